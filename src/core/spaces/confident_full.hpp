// SSOL as in Algorithm 4: theta in the weights, and S = A^-1 as the factor of full.hpp. S theta is computed on demand,
// in a pass over half the matrix.
#pragma once

#include "rules/coordinate_rules.hpp"
#include "spaces/full.hpp"

namespace sureline::SURELINE_ISA {

template <class T_>
struct ConfidentFull {
  using T = T_;
  static constexpr int kWidth = 1;
  static constexpr bool kOneHead = false, kForAllHeads = true;
  static constexpr bool kAbsorbs = true;
  static constexpr bool kScoresOnTheWay = false;
  static constexpr bool kSized = true;
  static constexpr bool kLocal = false;
  T* weights;
  int64_t n_slots, n_heads;
  bool intercept;
  T* factors;
  T* scratch;  // for Full
  double* u;   // per slot: S theta, and scratch of the same size

  Full<T> full() const { return {weights, n_slots, n_heads, intercept, factors, scratch}; }
  T* at(int64_t column, int64_t head) const { return full().at(column, head); }

  // u = S theta = U D U' theta. Zero where theta is.
  void solve(int64_t head) const { n_heads == 1 ? solve_for<true>(0) : solve_for<false>(head); }
  double weight_after_solve(int64_t column, const Round& round) const {
    return column < 0 ? u[0] : soft(u[column + 1], round.threshold);
  }

  template <class Row>
  double score(const Row& x, int64_t head, const Round& round) const {
    solve(head);
    const double f = sum<double, kLanes<Row>>(
        x.size(), [&](int64_t i) { return double(x.value(i)) * weight_after_solve(x.index(i), round); });
    return intercept ? f + u[0] : f;
  }
  template <class Row>
  void scores(const Row& x, const View& view, double* f) const {
    for (int64_t head = 0; head < n_heads; ++head) f[head] = score(x, head, view.of(head));
  }
  template <class Row>
  void descend(const Row& x, int64_t head, double slope, const Round& round) const {
    for (int64_t i = 0; i < x.size(); ++i) step(at(x.index(i), head), round.eta * slope * x.value(i));
    if (intercept) step(at(-1, head), round.eta * slope);
  }
  template <class Row>
  double variance(const Row& x, int64_t head) const {
    return full().variance(x, head, 0);
  }
  // S -= S x x'S / (r + x'Sx).
  template <class Row>
  bool absorb(const Row& x, int64_t head, double r) const {
    const double v = full().variance(x, head, 0), beta = 1 / (r + v), keep = r / (r + v);
    if (!(v < 1e300)) return false;
    if (!(v > 0) || !(r < 1e300)) return true;  // S stays
    if (!full().fits(head, 0, v, beta, keep)) return false;
    full().update(x, head, 0, 0.0, beta, keep);
    return true;
  }

 private:
  template <bool one_head>
  [[gnu::noinline]] void solve_for(int64_t head) const {
    double* b = u + n_slots;
    const T* theta = weights + head;
    const int64_t stride = one_head ? 1 : n_heads;
    const T* U = full().factor(head);
    for (int64_t j = 0; j < n_slots; ++j) {
      b[j] = theta[j * stride] + sum<double, 8>(j, [&](int64_t i) { return double(U[i]) * theta[i * stride]; });
      b[j] *= U[j];
      U += j + 1;
    }
    U = full().factor(head);
    for (int64_t j = 0; j < n_slots; ++j) {
      for (int64_t i = 0; i < j; ++i) u[i] += U[i] * b[j];
      u[j] = b[j];
      U += j + 1;
    }
  }
  static void step(T* theta, double by) { *theta = T(*theta - by); }
};

}  // namespace sureline::SURELINE_ISA
