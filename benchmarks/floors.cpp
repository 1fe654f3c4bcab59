// Bare loops of the arithmetic that the learners do, on their memory layout, with nothing else around: the floor that
// the benchmark measures sureline against. Weights and variances lie in pairs, the variance with the bits of 1 flipped;
// sums are double, steps float; slot 0 is the intercept. The sparse learners' loops, further down, are double
// throughout.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

float flip(float S) { return std::bit_cast<float>(std::bit_cast<uint32_t>(S) ^ std::bit_cast<uint32_t>(1.0f)); }

struct Csr {
  const float* x;
  const int32_t* j;
  const int32_t* start;
  int64_t n;
};

double dot(const Csr& X, int64_t t, const float* w) {
  double f = 0;
  for (int32_t i = X.start[t]; i < X.start[t + 1]; ++i) f += double(X.x[i]) * w[X.j[i]];
  return f;
}

void add(const Csr& X, int64_t t, float a, float* w) {
  for (int32_t i = X.start[t]; i < X.start[t + 1]; ++i) w[X.j[i]] += a * X.x[i];
}

}  // namespace

// Each returns the number of updates.
extern "C" int64_t floor_perceptron(const float* x, const int32_t* j, const int32_t* start, const int8_t* y, int64_t n,
                                    int64_t d) {
  const Csr X{x, j, start, n};
  std::vector<float> state(d + 1);
  float *w = state.data() + 1, &w0 = state[0];
  int64_t updates = 0;
  for (int64_t t = 0; t < n; ++t) {
    if (y[t] * (dot(X, t, w) + w0) > 0) continue;
    add(X, t, y[t], w);
    w0 += y[t];
    ++updates;
  }
  return updates;
}

extern "C" int64_t floor_pa(const float* x, const int32_t* j, const int32_t* start, const int8_t* y, int64_t n,
                            int64_t d) {
  const Csr X{x, j, start, n};
  std::vector<float> state(d + 1);
  float *w = state.data() + 1, &w0 = state[0];
  int64_t updates = 0;
  for (int64_t t = 0; t < n; ++t) {
    const double loss = 1 - y[t] * (dot(X, t, w) + w0);
    if (!(loss > 0)) continue;
    double v = 1;
    for (int32_t i = X.start[t]; i < X.start[t + 1]; ++i) v += double(X.x[i]) * X.x[i];
    const float a = float(y[t] * std::fmin(1.0, loss / v));
    add(X, t, a, w);
    w0 += a;
    ++updates;
  }
  return updates;
}

extern "C" int64_t floor_arow(const float* x, const int32_t* j, const int32_t* start, const int8_t* y, int64_t n,
                              int64_t d) {
  std::vector<float> state(2 * (d + 1));
  float* p = state.data() + 2;
  int64_t updates = 0;
  for (int64_t t = 0; t < n; ++t) {
    double f = p[-2];
    for (int32_t i = start[t]; i < start[t + 1]; ++i) f += double(x[i]) * p[2 * int64_t(j[i])];
    const double m = y[t] * f;
    if (!(m < 1)) continue;
    double v = flip(p[-1]);
    for (int32_t i = start[t]; i < start[t + 1]; ++i) v += double(x[i]) * x[i] * flip(p[2 * int64_t(j[i]) + 1]);
    const float beta = float(1 / (v + 1)), a = float(y[t] * (1 - m) * beta);
    for (int32_t i = start[t]; i < start[t + 1]; ++i) {
      float* q = p + 2 * int64_t(j[i]);
      const float S = flip(q[1]), Sx = S * x[i];
      q[0] += a * Sx;
      q[1] = flip(S * (1 - beta * Sx * x[i]));
    }
    const float S0 = flip(p[-1]);
    p[-2] += a * S0;
    p[-1] = flip(S0 * (1 - beta * S0));
    ++updates;
  }
  return updates;
}

// The sparse learners: two classes, hinge loss (FTRL: log loss), no costs, no sample weights, eta = r = delta = 1.
// Their state is given, all zeros: float, one number or an interleaved pair for each weight with slot 0 the intercept,
// which has no penalty. All arithmetic is double. What they leave out beside checks, counters and prefetching: guards
// against overflow and against numbers that rounding takes to zero, the choice between losses and schedules, several
// heads, and in SSOL the floor under the variances. A penalty's effect on a weight is computed when a row needs the
// weight, from its state and the clock, as the learners do it: a round touches nothing but its own row.
//
// soft(a, b) = sign(a) max(|a| - b, 0), without a branch: which weights are cut is hard to predict.
namespace {

double soft(double a, double b) { return a - std::min(std::max(a, -b), b); }

// sum of term(i) over the row in four partial sums, as the learners have: one sum would wait for the adder.
template <class Term>
double sum_over(const Csr& X, int64_t t, const Term& term) {
  double lanes[4] = {};
  int32_t i = X.start[t];
  const int32_t end = X.start[t + 1];
  for (; i + 4 <= end; i += 4)
    for (int l = 0; l < 4; ++l) lanes[l] += term(i + l);
  for (; i < end; ++i) lanes[0] += term(i);
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

}  // namespace

// w = soft(theta, lam). State: theta.
extern "C" int64_t floor_fsol(const float* x, const int32_t* j, const int32_t* start, const int8_t* y, int64_t n,
                              float* state, double lam) {
  const Csr X{x, j, start, n};
  float* theta = state + 1;
  int64_t updates = 0;
  for (int64_t t = 0; t < X.n; ++t) {
    const double f = theta[-1] + sum_over(X, t, [&](int32_t i) { return X.x[i] * soft(theta[X.j[i]], lam); });
    if (!(y[t] * f < 1)) continue;
    for (int32_t i = X.start[t]; i < X.start[t + 1]; ++i) theta[X.j[i]] = float(theta[X.j[i]] + double(y[t]) * X.x[i]);
    theta[-1] += y[t];
    ++updates;
  }
  return updates;
}

// S absorbs every row before the prediction, then w = soft(S theta, lam / t). State: theta and S with the bits of 1
// flipped. The row's variance has to be known before the first S can be written, hence two passes; an update is a
// third.
extern "C" int64_t floor_ssol(const float* x, const int32_t* j, const int32_t* start, const int8_t* y, int64_t n,
                              float* state, double lam) {
  const Csr X{x, j, start, n};
  float* p = state + 2;
  const auto at = [&](int32_t i) { return p + 2 * int64_t(X.j[i]); };
  int64_t updates = 0;
  for (int64_t t = 0; t < X.n; ++t) {
    const double S0 = flip(p[-1]);
    const double v = S0 + sum_over(X, t, [&](int32_t i) { return double(X.x[i]) * X.x[i] * double(flip(at(i)[1])); });
    const double beta = 1 / (1 + v), lam_t = lam / double(t + 1);
    p[-1] = flip(float(S0 - beta * S0 * S0));
    const double f = p[-2] * double(flip(p[-1])) + sum_over(X, t, [&](int32_t i) {
                       float* q = at(i);
                       const double x_i = X.x[i], S = flip(q[1]), Sx = S * x_i;
                       const float smaller = float(S - beta * Sx * Sx);
                       q[1] = flip(smaller);
                       return x_i * soft(double(smaller) * q[0], lam_t);
                     });
    if (!(y[t] * f < 1)) continue;
    for (int32_t i = X.start[t]; i < X.start[t + 1]; ++i) at(i)[0] = float(at(i)[0] + double(y[t]) * X.x[i]);
    p[-2] += y[t];
    ++updates;
  }
  return updates;
}

// w = soft(theta, (t - 1) lam) / (1 + q) at round t, theta the sum of the negative gradients and q the root of the sum
// of their squares. State: theta and q.
extern "C" int64_t floor_adarda(const float* x, const int32_t* j, const int32_t* start, const int8_t* y, int64_t n,
                                float* state, double lam) {
  const Csr X{x, j, start, n};
  float* p = state + 2;
  const auto at = [&](int32_t i) { return p + 2 * int64_t(X.j[i]); };
  int64_t updates = 0;
  for (int64_t t = 0; t < X.n; ++t) {
    const double threshold = double(t) * lam;
    const double f = p[-2] / (1 + double(p[-1])) + sum_over(X, t, [&](int32_t i) {
                       const float* q = at(i);
                       return X.x[i] * soft(q[0], threshold) / (1 + double(q[1]));
                     });
    if (!(y[t] * f < 1)) continue;
    for (int32_t i = X.start[t]; i < X.start[t + 1]; ++i) {
      float* q = at(i);
      const double x_i = X.x[i], root = q[1];
      q[0] = float(q[0] + y[t] * x_i);
      q[1] = float(std::sqrt(root * root + x_i * x_i));
    }
    p[-2] += y[t];
    p[-1] = float(std::sqrt(double(p[-1]) * p[-1] + 1));
    ++updates;
  }
  return updates;
}

// w <- soft(w - z / sqrt(t), lam / sqrt(t)) every round. State: w when it was last written, and the sum of all
// thresholds until then; a weight is due what has been added to that sum since.
extern "C" int64_t floor_fobos(const float* x, const int32_t* j, const int32_t* start, const int8_t* y, int64_t n,
                               float* state, double lam) {
  const Csr X{x, j, start, n};
  float* p = state + 2;
  const auto at = [&](int32_t i) { return p + 2 * int64_t(X.j[i]); };
  double thresholds = 0;
  int64_t updates = 0;
  for (int64_t t = 0; t < X.n; ++t) {
    const double eta = 1 / std::sqrt(double(t + 1)), due = thresholds;
    thresholds += eta * lam;
    const double f = p[-2] + sum_over(X, t, [&](int32_t i) {
                       const float* q = at(i);
                       return X.x[i] * soft(q[0], due - q[1]);
                     });
    if (!(y[t] * f < 1)) continue;
    const double step = eta * y[t];
    const float stamp = float(due);
    for (int32_t i = X.start[t]; i < X.start[t + 1]; ++i) {
      float* q = at(i);
      q[0] = float(soft(q[0], due - q[1]) + step * X.x[i]);
      q[1] = stamp;
    }
    p[-2] = float(p[-2] + step);
    ++updates;
  }
  return updates;
}

// w = soft(theta, l1) / ((beta + q) / alpha + l2), theta = -z of the paper and q the root of its n. State: theta and q.
extern "C" int64_t floor_ftrl(const float* x, const int32_t* j, const int32_t* start, const int8_t* y, int64_t n,
                              float* state, double alpha, double beta, double l1, double l2) {
  const Csr X{x, j, start, n};
  float* p = state + 2;
  const auto at = [&](int32_t i) { return p + 2 * int64_t(X.j[i]); };
  const double rate = 1 / alpha, least = beta / alpha + l2;
  const auto weight = [&](const float* q, double cut) { return soft(q[0], cut) / (q[1] * rate + least); };
  const auto step = [&](float* q, double g, double cut) {
    const double root = q[1], longer = std::sqrt(root * root + g * g);
    q[0] = float(q[0] - g + (longer - root) * rate * weight(q, cut));
    q[1] = float(longer);
  };
  for (int64_t t = 0; t < X.n; ++t) {
    const double f = weight(p - 2, 0) + sum_over(X, t, [&](int32_t i) { return X.x[i] * weight(at(i), l1); });
    const double g = -y[t] / (1 + std::exp(y[t] * f));
    for (int32_t i = X.start[t]; i < X.start[t + 1]; ++i) step(at(i), g * X.x[i], l1);
    step(p - 2, g, 0);
  }
  return X.n;
}

// The memory traffic of one example with a full covariance of `size` numbers: read them all (S x), then read and write
// them all (the rank-one step).
extern "C" double floor_traffic(double* S, int64_t size, int64_t examples) {
  double total = 0;
  for (int64_t t = 0; t < examples; ++t) {
    double sums[64] = {};
    for (int64_t i = 0; i + 64 <= size; i += 64)
      for (int l = 0; l < 64; ++l) sums[l] += S[i + l];
    for (double s : sums) total += s;
    const double factor = 1 - 1e-300 * total;
    for (int64_t i = 0; i < size; ++i) S[i] *= factor;
  }
  return total;
}
