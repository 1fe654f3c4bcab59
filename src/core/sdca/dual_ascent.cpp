#include "sdca/dual_ascent.hpp"

#include <algorithm>
#include <cmath>

#include "rows/any_rows.hpp"

namespace sureline {

namespace {

using namespace SURELINE_ISA;

// The weights that belong to z, times sigma.
struct Truncated {
  const double* z;
  double lam;
  double operator()(int64_t slot, double) const { return soft(z[slot], lam); }
};

template <class Row>
[[gnu::always_inline]] inline Refusal margin(const DualProblem& p, int64_t row, const Row& x, const double* z,
                                             double& m) {
  const double y = p.labels[row] == p.positive ? 1 : -1;
  const Refusal refusal = product(x, p.rows.n_columns, p.intercept ? z[0] : 0, Truncated{z, p.lam}, m);
  m *= y / p.sigma;
  return refusal != Refusal::none || std::isfinite(m) ? refusal : Refusal::score;
}

// The a_i of a row after its step t, which maximises
//   t - c(a + t) - t m - t^2 |x|^2 / (2 sigma n),
// a lower bound of what n D gains: the conjugate of a sigma-strongly convex penalty has a 1/sigma-Lipschitz gradient.
inline double ascended(const DualProblem& p, double s, double m, double norm, double a) {
  const double curvature = norm / (p.sigma * p.n);
  if (p.loss == Loss::squared_hinge) return std::max(0.0, a + (1 - m - a / (2 * s)) / (curvature + 1 / (2 * s)));
  if (curvature == 0) return m < 1 ? s : 0;  // a row of zeros
  return std::min(std::max(0.0, a + (1 - m) / curvature), s);
}

}  // namespace

Outcome squared_norms(const Rows& rows, double* out) {
  return with_any_rows(rows, [&](const auto& all) -> Outcome {
    for (int64_t row = 0; row < rows.n_rows; ++row) {
      const Refusal refusal = product(all[row], rows.n_columns, 0, [](int64_t, double x) { return x; }, out[row]);
      if (refusal != Refusal::none) return {refusal, row};
    }
    return {};
  });
}

Outcome ascend(const DualProblem& p, const int64_t* order, int64_t n_order, double* alpha, double* z) {
  return with_any_rows(p.rows, [&](const auto& all) -> Outcome {
    for (int64_t i = 0; i < (order ? n_order : p.rows.n_rows); ++i) {
      const int64_t row = order ? order[i] : i;
      const double s = p.sample_weight[row];
      if (s == 0) continue;
      const auto x = all[row];
      double m;
      if (const Refusal refusal = margin(p, row, x, z, m); refusal != Refusal::none) return {refusal, row};
      const double a = ascended(p, s, m, p.norms[row] + p.intercept, alpha[row]), t = a - alpha[row];
      if (t == 0) continue;
      const double scale = (p.labels[row] == p.positive ? t : -t) / p.n;
      if (!std::isfinite(scale)) return {Refusal::step, row};
      alpha[row] = a;
      if (p.intercept) z[0] += scale;
      for (int64_t k = 0; k < x.size(); ++k) z[x.index(k) + 1] += scale * double(x.value(k));
    }
    return {};
  });
}

// P and D are sums over rows but for the penalty and its conjugate, and those two add up to w.z = 1/n sum_i a_i m_i. So
// the gap is a mean of terms none of which is negative (Fenchel and Young), and nothing cancels.
Outcome dual_gap(const DualProblem& p, const double* alpha, const double* z, double* gap) {
  return with_any_rows(p.rows, [&](const auto& all) -> Outcome {
    double total = 0;
    for (int64_t row = 0; row < p.rows.n_rows; ++row) {
      const double s = p.sample_weight[row], a = alpha[row];
      if (s == 0) continue;
      double m;
      if (const Refusal refusal = margin(p, row, all[row], z, m); refusal != Refusal::none) return {refusal, row};
      const double xi = std::max(0.0, 1 - m);
      if (p.loss == Loss::squared_hinge)
        total += s * xi * xi - a * (1 - m) + a * a / (4 * s);
      else
        total += s * xi - a * (1 - m);
    }
    *gap = total / p.n;
    return {};
  });
}

Outcome linear_scores(const Rows& rows, const double* weights, double* out) {
  return with_any_rows(rows, [&](const auto& all) -> Outcome {
    const auto weight = [weights](int64_t slot, double) { return weights[slot]; };
    for (int64_t row = 0; row < rows.n_rows; ++row)
      if (const Refusal refusal = product(all[row], rows.n_columns, weights[0], weight, out[row]);
          refusal != Refusal::none)
        return {refusal, row};
    return {};
  });
}

}  // namespace sureline
