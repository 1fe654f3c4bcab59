// The full covariance as S = U D U' (U unit upper triangular, D diagonal): Bierman's form of the rank-one step, which
// keeps S symmetric positive definite by construction, where S - beta (Sx)(Sx)' written out loses that to rounding
// as soon as the scales of the features differ. It also moves half the memory.
//
// factors[head] holds the columns of U one after another, each with D_j in the place of the unit diagonal: column j has
// j + 1 numbers and begins at j (j + 1) / 2. More columns are more numbers at the end. Index 0 is the intercept.
#pragma once

#include <cmath>
#include <cstring>

#include "diagonal.hpp"

namespace sureline::SURELINE_ISA {

template <class T_, bool one_head>
struct Full {
  using T = T_;
  static constexpr int kWidth = 1;
  static constexpr bool kTheta = false;
  T* weights;
  int64_t n_slots, n_heads;
  bool intercept;
  T* factors;
  T* scratch;  // 4 n_slots: x, U'x for two heads, S x

  static int64_t scratch_size(int64_t n_slots) { return 4 * n_slots; }
  static int64_t column_start(int64_t j) { return j * (j + 1) / 2; }

  T* at(int64_t column, int64_t head) const {
    return Identity<T, one_head>{weights, n_slots, n_heads, intercept}.at(column, head);
  }
  T* factor(int64_t head) const { return factors + head * column_start(n_slots); }
  T* Ux(int which) const { return scratch + (1 + which) * n_slots; }

  template <class Row>
  double score(const Row& x, int64_t head) const {
    return Identity<T, one_head>{weights, n_slots, n_heads, intercept}.score(x, head);
  }
  template <class Row>
  void scores(const Row& x, double* f) const {
    Identity<T, one_head>{weights, n_slots, n_heads, intercept}.scores(x, f);
  }
  // v = sum of D_j (U'x)_j^2; U'x stays in scratch for the update.
  template <class Row>
  double variance(const Row& x, int64_t head, int which) const {
    const T* U = factor(head);
    T* f = Ux(which);
    if constexpr (Row::dense) {
      scratch[0] = intercept ? T(1) : T(0);
      std::memcpy(scratch + 1, x.values, size_t(x.n) * sizeof(T));
      for (int64_t j = 0; j < n_slots; ++j) {
        f[j] = scratch[j] + dot(U, scratch, j);
        U += j + 1;
      }
    } else {
      int64_t i = 0;  // entries of x before column j
      for (int64_t j = 0; j < n_slots; ++j) {
        T value = j == 0 ? (intercept ? T(1) : T(0)) : (intercept ? U[0] : T(0));
        for (int64_t e = 0; e < i; ++e) value += U[x.index(e) + 1] * x.value(e);
        if (j > 0 && i < x.size() && x.index(i) + 1 == j) value += x.value(i++);
        f[j] = value;
        U += j + 1;
      }
    }
    const T* column = factor(head);
    double v = 0;
    for (int64_t j = 0; j < n_slots; ++j) {
      v += double(f[j]) * f[j] * column[column_start(j) + j];
    }
    return v;
  }
  template <class Row>
  double score_and_variance(const Row& x, int64_t head, double& v) const {
    v = variance(x, head, 0);
    return score(x, head);
  }
  // False if a step would take the factor beyond what T can hold: features some 20 orders of magnitude apart.
  bool fits(int64_t head, int which, double v, double beta, double keep) const {
    if (!(beta > 0)) return true;
    const T* U = factor(head);
    const T* f = Ux(which);
    double before = keep / beta, b_so_far = 0, lambda = 0;
    for (int64_t j = 0; j < n_slots; ++j) {
      const double b = double(U[column_start(j) + j]) * f[j];
      if (b_so_far > 0) lambda = std::fmax(lambda, std::fabs(f[j] / before));
      before += f[j] * b;
      b_so_far += std::fabs(b);
    }
    return lambda * std::sqrt(v) < (sizeof(T) == 4 ? 1e25 : 1e250);  // |k_i| <= sqrt(v), since S_ii <= 1
  }
  // Bierman 1977. r = 1/beta - v = keep / beta is the noise that makes beta the Kalman gain's denominator.
  template <class Row>
  void update(const Row&, int64_t head, int which, double a, double beta, double keep) const {
    T* U = factor(head);
    const T* f = Ux(which);
    T* k = scratch + 3 * n_slots;  // becomes S x, for the S before the step
    double before = beta > 0 ? keep / beta : 0, b_so_far = 0;
    for (int64_t j = 0; j < n_slots; ++j) {
      T& D = U[j];
      const double b = double(D) * f[j];
      if (beta > 0) {
        const double after = before + f[j] * b;
        absorb(U, k, j, b_so_far > 0 ? T(-f[j] / before) : T(0), T(b));  // k = 0 so far where b was
        const T smaller = T(D * (before / after));
        D = smaller > kSmallestVariance<T> ? smaller : kSmallestVariance<T>;
        before = after;
        b_so_far += std::fabs(b);
      } else {
        absorb(U, k, j, T(0), T(b));
      }
      k[j] = T(b);
      U += j + 1;
    }
    for (int64_t j = 0; j < n_slots; ++j) {
      T* w = weights + j * n_heads + head;
      *w = T(*w + a * k[j]);
    }
  }

 private:
  static T dot(const T* u, const T* x, int64_t n) {
    return sum<T, 64 / sizeof(T) * 2>(n, [&](int64_t i) { return u[i] * x[i]; });
  }
  static void absorb(T* __restrict u, T* __restrict k, int64_t n, T lambda, T b) {
    for (int64_t i = 0; i < n; ++i) {
      const T old = u[i];
      u[i] = old + lambda * k[i];
      k[i] += old * b;
    }
  }
};

}  // namespace sureline::SURELINE_ISA
