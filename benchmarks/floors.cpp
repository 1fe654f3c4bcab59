// Bare loops of the arithmetic that the learners do, on their memory layout, with nothing else around: the floor that
// the benchmark measures sureline against. Weights and variances lie in pairs, the variance with the bits of 1 flipped;
// sums are double, steps float; slot 0 is the intercept.
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
