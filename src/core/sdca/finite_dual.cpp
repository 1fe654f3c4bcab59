#include "sdca/finite_dual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rows/any_rows.hpp"

namespace sureline {

namespace {

using namespace SURELINE_ISA;
using Regularizer = FiniteDualProblem::Regularizer;

// With t = (b - from) step added to w' along x: the margin as a function of b, for the elastic net.
template <class Row>
struct TruncatedMargin {
  const Row& x;
  const double* w_prime;
  double y, from, step, delta;  // step has the sign of y
  bool intercept;

  double operator()(double b, double& slope) const {
    const double t = (b - from) * step;
    double score = intercept ? w_prime[0] + t : 0.0, active = intercept;
    for (int64_t i = 0; i < x.size(); ++i) {
      const double value = x.value(i), w = soft(w_prime[x.index(i) + 1] + t * value, delta);
      score += value * w;
      if (w != 0) active += value * value;
    }
    slope = std::fabs(step) * active;
    return y * score;
  }
};

// The same on the simplex. The columns that the row does not have stand still: they are a sum.
template <class Row>
struct SimplexMargin {
  const Row& x;
  const double* w_prime;
  double y, from, step;
  bool intercept;
  double top_of_rest = -std::numeric_limits<double>::infinity(), rest = 0;  // sum of exp(w' - top)

  SimplexMargin(const Row& row, const double* w, double label, double at, double signed_step, bool has_intercept,
                int64_t n_columns)
      : x(row), w_prime(w), y(label), from(at), step(signed_step), intercept(has_intercept) {
    over_the_rest(n_columns, [this](double w_j) { top_of_rest = std::max(top_of_rest, w_j); });
    over_the_rest(n_columns, [this](double w_j) { rest += std::exp(w_j - top_of_rest); });
  }

  template <class Use>
  void over_the_rest(int64_t n_columns, const Use& use) const {
    int64_t next = 0;
    for (int64_t j = 0; j < n_columns; ++j) {
      if (next < x.size() && x.index(next) == j)
        ++next;
      else
        use(w_prime[j + 1]);
    }
  }

  double operator()(double b, double& slope) const {
    const double t = (b - from) * step;
    double top = top_of_rest;
    for (int64_t i = 0; i < x.size(); ++i) top = std::max(top, w_prime[x.index(i) + 1] + t * x.value(i));
    double total = rest > 0 ? rest * std::exp(top_of_rest - top) : 0.0, first = 0, second = 0;
    for (int64_t i = 0; i < x.size(); ++i) {
      const double value = x.value(i), e = std::exp(w_prime[x.index(i) + 1] + t * value - top);
      total += e;
      first += value * e;
      second += value * value * e;
    }
    const double mean = first / total;
    slope = std::fabs(step) * (std::max(0.0, second / total - mean * mean) + intercept);
    return y * (mean + (intercept ? w_prime[0] + t : 0.0));
  }
};

// The best b of a row, which has looked at the row before. It is not finite if any margin on the way was not.
template <class Row>
double best_of_row(const FiniteDualProblem& p, int64_t row, const Row& x, double y, double from, double step,
                   const double* w_prime) {
  bool finite = true;
  const auto best = [&](const auto& margin) {
    const double b = best_dual(p.loss, 1.0, [&](double at, double& slope) {
      const double m = margin(at, slope);
      finite = finite && std::isfinite(m) && std::isfinite(slope);
      return m;
    });
    return finite ? b : std::numeric_limits<double>::quiet_NaN();
  };
  if (p.regularizer == Regularizer::kl)
    return best(SimplexMargin<Row>(x, w_prime, y, from, step, p.intercept, p.rows.n_columns));
  if (p.regularizer == Regularizer::elastic_net)
    return best(TruncatedMargin<Row>{x, w_prime, y, from, step, p.delta, p.intercept});
  // With l2 it is a line.
  const double score =
      sum<double, kLanes<Row>>(x.size(), [&](int64_t i) { return double(x.value(i)) * w_prime[x.index(i) + 1]; });
  const double slope = std::fabs(step) * (p.norms[row] + p.intercept);
  const double rest = y * (score + (p.intercept ? w_prime[0] : 0.0)) - from * slope;
  if (!std::isfinite(rest) || !std::isfinite(slope)) return std::numeric_limits<double>::quiet_NaN();
  return best_dual(p.loss, rest, slope, 1.0);
}

}  // namespace

Outcome ascend(const FiniteDualProblem& p, const int64_t* order, int64_t n_order, double* b, double* w_prime) {
  return with_any_rows(p.rows, [&](const auto& all) -> Outcome {
    for (int64_t i = 0; i < (order ? n_order : p.rows.n_rows); ++i) {
      const int64_t row = order ? order[i] : i;
      const double s = p.sample_weight[row], y = p.labels[row] == p.positive ? 1 : -1;
      if (s == 0) continue;
      const auto x = all[row];
      if (const Refusal refusal = x.inspect(p.rows.n_columns); refusal != Refusal::none) return {refusal, row};
      const double step = y * (s / (p.rho * p.n)), best = best_of_row(p, row, x, y, b[row], step, w_prime);
      if (!std::isfinite(best)) return {why_not_finite(x), row};
      const double t = (best - b[row]) * step;
      if (t == 0) continue;
      if (!std::isfinite(t)) return {Refusal::step, row};
      b[row] = best;
      if (p.intercept) w_prime[0] += t;
      for (int64_t k = 0; k < x.size(); ++k) w_prime[x.index(k) + 1] += t * double(x.value(k));
    }
    return {};
  });
}

// R(w) + R*(w') is w.w', which is 1/(rho n) sum_i s_i b_i m_i. So the gap is a mean of terms none of which is negative
// (Fenchel and Young), but for rounding.
Outcome dual_gap(const FiniteDualProblem& p, const double* b, const double* w_prime, double* gap) {
  const int64_t n_columns = p.rows.n_columns;
  double top = -std::numeric_limits<double>::infinity(), total = 0;
  if (p.regularizer == Regularizer::kl) {
    for (int64_t j = 1; j <= n_columns; ++j) top = std::max(top, w_prime[j]);
    for (int64_t j = 1; j <= n_columns; ++j) total += std::exp(w_prime[j] - top);
  }
  const double delta = p.regularizer == Regularizer::elastic_net ? p.delta : 0.0;
  const auto weight = [&](int64_t slot, double) {
    return p.regularizer == Regularizer::kl ? std::exp(w_prime[slot] - top) / total : soft(w_prime[slot], delta);
  };
  return with_any_rows(p.rows, [&](const auto& all) -> Outcome {
    double sum = 0;
    for (int64_t row = 0; row < p.rows.n_rows; ++row) {
      const double s = p.sample_weight[row];
      if (s == 0) continue;
      double m;
      const Refusal refusal = product(all[row], n_columns, p.intercept ? w_prime[0] : 0.0, weight, m);
      if (refusal != Refusal::none) return {refusal, row};
      if (p.labels[row] != p.positive) m = -m;
      sum += s * std::max(0.0, p.loss.value(m, 1.0) + p.loss.conjugate(b[row], 1.0) + b[row] * m);
    }
    *gap = sum / p.n;
    return std::isfinite(*gap) ? Outcome{} : Outcome{Refusal::score, 0};
  });
}

}  // namespace sureline
