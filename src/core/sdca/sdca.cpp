#include "sdca/sdca.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rows/any_rows.hpp"

namespace sureline {

namespace {

using namespace SURELINE_ISA;

// The entries of v, each truncated.
struct Truncated {
  const double* v;
  double threshold;
  double operator()(int64_t slot, double) const { return soft(v[slot], threshold); }
};

// v on the simplex.
struct Simplex {
  const double* v;
  double top = -std::numeric_limits<double>::infinity(), total = 0;

  Simplex(const double* numbers, int64_t n_columns) : v(numbers) {
    for (int64_t j = 1; j <= n_columns; ++j) top = std::max(top, v[j]);
    for (int64_t j = 1; j <= n_columns; ++j) total += std::exp(v[j] - top);
  }
  double operator()(int64_t slot, double) const { return std::exp(v[slot] - top) / total; }
};

template <class Row, class Weight>
[[gnu::always_inline]] inline Refusal margin(const SdcaProblem& p, int64_t row, const Row& x, const double* v,
                                             const Weight& weight, double& m) {
  const Refusal refusal = product(x, p.rows.n_columns, p.objective.intercept ? v[0] : 0, weight, m);
  if (refusal != Refusal::none) return refusal;
  m *= p.y(row) / p.objective.scale();
  return std::isfinite(m) ? Refusal::none : Refusal::score;
}

// -- the exact step -----------------------------------------------------------------------------------------------

// The margin as a function of b, for the elastic net: t = (b - from) step is added to w' along x.
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

// The same on the simplex. Columns outside the row stay fixed, so they enter as one sum.
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

// The best b of a checked row. Not finite if a margin on the way was not.
template <class Row>
double best_of_row(const SdcaProblem& p, int64_t row, const Row& x, double from, double step, const double* w_prime) {
  const double y = p.y(row);
  bool finite = true;
  const auto best = [&](const auto& margin_at) {
    const double b = best_dual(p.objective.loss, 1.0, [&](double at, double& slope) {
      const double m = margin_at(at, slope);
      finite = finite && std::isfinite(m) && std::isfinite(slope);
      return m;
    });
    return finite ? b : std::numeric_limits<double>::quiet_NaN();
  };
  if (p.objective.regularizer == Regularizer::kl)
    return best(SimplexMargin<Row>(x, w_prime, y, from, step, p.objective.intercept, p.rows.n_columns));
  if (p.objective.regularizer == Regularizer::elastic_net)
    return best(TruncatedMargin<Row>{x, w_prime, y, from, step, p.objective.threshold, p.objective.intercept});
  // With l2 the margin is linear in b.
  const double score =
      sum<double, kLanes<Row>>(x.size(), [&](int64_t i) { return double(x.value(i)) * w_prime[x.index(i) + 1]; });
  const double slope = std::fabs(step) * (p.norms[row] + p.objective.intercept);
  const double rest = y * (score + (p.objective.intercept ? w_prime[0] : 0.0)) - from * slope;
  if (!std::isfinite(rest) || !std::isfinite(slope)) return std::numeric_limits<double>::quiet_NaN();
  return best_dual(p.objective.loss, rest, slope, 1.0);
}

// A dual variable after its step, and the factor of the row in v.
struct Move {
  double dual = 0, shift = 0;
  Refusal refusal = Refusal::none;
};

template <class Row>
[[gnu::always_inline]] inline Move exact_step(const SdcaProblem& p, int64_t row, const Row& x, double b,
                                              const double* w_prime) {
  if (const Refusal refusal = x.inspect(p.rows.n_columns); refusal != Refusal::none) return {.refusal = refusal};
  const double step = p.y(row) * (p.sample_weight[row] / (p.objective.rho * p.n));
  const double best = best_of_row(p, row, x, b, step, w_prime);
  if (!std::isfinite(best)) return {.refusal = why_not_finite(x)};
  return {best, (best - b) * step};
}

// -- the step by the bound ----------------------------------------------------------------------------------------

inline double bound_maximum(const SdcaProblem& p, double s, double m, double norm, double a) {
  const double curvature = norm / (p.objective.rho * p.n);
  if (p.objective.loss.kind == DualLoss::Kind::squared_hinge)
    return std::max(0.0, a + (1 - m - a / (2 * s)) / (curvature + 1 / (2 * s)));
  if (curvature == 0) return m < 1 ? s : 0;  // a row of zeros
  return std::min(std::max(0.0, a + (1 - m) / curvature), s);
}

template <class Row>
[[gnu::always_inline]] inline Move bound_step(const SdcaProblem& p, int64_t row, const Row& x, double a,
                                              const double* z) {
  double m;
  if (const Refusal refusal = margin(p, row, x, z, Truncated{z, p.objective.threshold}, m); refusal != Refusal::none)
    return {.refusal = refusal};
  const double next = bound_maximum(p, p.sample_weight[row], m, p.norms[row] + p.objective.intercept, a);
  return {next, p.y(row) * (next - a) / p.n};
}

// -- the gap --------------------------------------------------------------------------------------------------------

// s (loss(m) + loss*(-b) + b m), which is never negative up to rounding (Fenchel-Young).
inline double excess(const SdcaProblem& p, double s, double dual, double m) {
  if (p.objective.step == SdcaStep::exact)
    return s * std::max(0.0, p.objective.loss.value(m, 1.0) + p.objective.loss.conjugate(dual, 1.0) + dual * m);
  const double xi = std::max(0.0, 1 - m);
  if (p.objective.loss.kind == DualLoss::Kind::hinge) return s * xi - dual * (1 - m);
  return s * xi * xi - dual * (1 - m) + dual * dual / (4 * s);
}

template <class Weight>
Outcome total_excess(const SdcaProblem& p, const double* duals, const double* v, const Weight& weight, double& total) {
  return with_any_rows(p.rows, [&](const auto& all) -> Outcome {
    for (int64_t row = 0; row < p.rows.n_rows; ++row) {
      const double s = p.sample_weight[row];
      if (s == 0) continue;
      double m;
      if (const Refusal refusal = margin(p, row, all[row], v, weight, m); refusal != Refusal::none)
        return {refusal, row};
      total += excess(p, s, duals[row], m);
    }
    return {};
  });
}

// -- the loop -------------------------------------------------------------------------------------------------------

template <SdcaStep kind>
Outcome ascend_by(const SdcaProblem& p, const int64_t* order, int64_t n_order, double* duals, double* v) {
  return with_any_rows(p.rows, [&](const auto& all) -> Outcome {
    for (int64_t i = 0; i < (order ? n_order : p.rows.n_rows); ++i) {
      const int64_t row = order ? order[i] : i;
      if (p.sample_weight[row] == 0) continue;
      const auto x = all[row];
      const Move move =
          kind == SdcaStep::exact ? exact_step(p, row, x, duals[row], v) : bound_step(p, row, x, duals[row], v);
      if (move.refusal != Refusal::none) return {move.refusal, row};
      if (move.dual == duals[row]) continue;
      if (!std::isfinite(move.shift)) return {Refusal::step, row};
      duals[row] = move.dual;
      if (p.objective.intercept) v[0] += move.shift;
      for (int64_t k = 0; k < x.size(); ++k) v[x.index(k) + 1] += move.shift * double(x.value(k));
    }
    return {};
  });
}

}  // namespace

Outcome ascend(const SdcaProblem& p, const int64_t* order, int64_t n_order, double* duals, double* v) {
  return p.objective.step == SdcaStep::exact ? ascend_by<SdcaStep::exact>(p, order, n_order, duals, v)
                                             : ascend_by<SdcaStep::bound>(p, order, n_order, duals, v);
}

// P and D are sums over rows, except for rho R(w) and rho R*(w'). Those two add up to rho w.w' = 1/n sum_i s_i b_i m_i.
// So the gap is a mean of terms that are not negative, and nothing cancels.
Outcome dual_gap(const SdcaProblem& p, const double* duals, const double* v, double* gap) {
  double total = 0;
  const Outcome outcome = p.objective.regularizer == Regularizer::kl
                              ? total_excess(p, duals, v, Simplex(v, p.rows.n_columns), total)
                              : total_excess(p, duals, v, Truncated{v, p.objective.threshold}, total);
  *gap = total / p.n;
  // The bound's steps can recover from a squared hinge that overflows.
  const bool hopeless = p.objective.step == SdcaStep::exact && !std::isfinite(*gap);
  return outcome.refusal == Refusal::none && hopeless ? Outcome{Refusal::score, 0} : outcome;
}

}  // namespace sureline
