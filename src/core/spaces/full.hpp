// The full covariance as S = U D U' (U unit upper triangular, D diagonal), with Bierman's form of the rank-one step. It
// keeps S symmetric positive definite by construction. S - beta (Sx)(Sx)' written out loses that to rounding as soon as
// the scales of the features differ. It also moves half the memory.
//
// factors[head] holds the columns of U one after another, each with D_j in the place of the unit diagonal: column j has
// j + 1 numbers and begins at j (j + 1) / 2. New columns are appended. Index 0 is the intercept.
#pragma once

#include <cmath>
#include <cstring>

#include "spaces/diagonal.hpp"

namespace sureline::SURELINE_ISA {

// For any number of heads: nearly all of the time goes into factors, which are of one head. What does not depend on the
// rows is compiled once for all of them.
template <class T_>
struct Full {
  using T = T_;
  static constexpr int kWidth = 1;
  static constexpr bool kOneHead = false, kForAllHeads = true;
  static constexpr bool kTheta = false;
  static constexpr bool kCovariance = true;
  static constexpr bool kPaired = false;
  static constexpr bool kSelects = false;
  T* weights;
  int64_t n_slots, n_heads;
  bool intercept;
  T* factors;
  T* scratch;  // per slot: x, U'x for two heads, S x, and the plan of a step for two heads

  static int64_t scratch_size(int64_t n_slots) { return 10 * n_slots; }
  static int64_t column_start(int64_t j) { return j * (j + 1) / 2; }

  T* at(int64_t column, int64_t head) const { return weights + (column + 1) * n_heads + head; }
  static double weight(const T* p) { return *p; }
  T* factor(int64_t head) const { return factors + head * column_start(n_slots); }
  T* Ux(int which) const { return scratch + (1 + which) * n_slots; }

  template <class Row>
  double score(const Row& x, int64_t head) const {
    if (n_heads == 1) return Identity<T, true>{weights, n_slots, 1, intercept}.score(x, 0);
    return Identity<T, false>{weights, n_slots, n_heads, intercept}.score(x, head);
  }
  template <class Row>
  void scores(const Row& x, double* f) const {
    Identity<T, false>{weights, n_slots, n_heads, intercept}.scores(x, f);
  }
  // v = sum of D_j (U'x)_j^2; U'x stays in scratch for the update.
  template <class Row>
  [[gnu::noinline]] double variance(const Row& x, int64_t head, int which) const {
    const T* U = factor(head);
    T* f = Ux(which);
    if constexpr (Row::dense) {
      scratch[0] = intercept ? T(1) : T(0);
      if (x.n > 0) std::memcpy(scratch + 1, x.values, size_t(x.n) * sizeof(T));
      for (int64_t j = 0; j < n_slots; j += 4) {
        const T* u[4] = {U, U + (j + 1), U + 2 * j + 3, U + 3 * j + 6};
        const int columns = n_slots - j < 4 ? int(n_slots - j) : 4;
        if (columns == 4)
          dots(u, scratch, j, f + j);
        else  // singly, with the partial sums of a block of four: the width must not change the bits
          for (int c = 0; c < columns; ++c) dots<1>({u[c]}, scratch, j, f + j + c);
        for (int c = 0; c < columns; ++c) {
          for (int i = 0; i < c; ++i) f[j + c] += u[c][j + i] * scratch[j + i];
          f[j + c] += scratch[j + c];
        }
        U += 4 * j + 10;
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
  // Plans the step that update() then takes. False if the factor would exceed the range of T: features some 20 orders
  // of magnitude apart. Bierman 1977. r = 1/beta - v = keep / beta is the noise of the Kalman filter with beta in its
  // gain.
  [[gnu::noinline]] bool fits(int64_t head, int which, double v, double beta, double keep) const {
    const T* D = factor(head);
    const T* f = Ux(which);
    double before = beta > 0 ? keep / beta : 0, b_so_far = 0, largest = 0;
    const bool shrinks = beta > 0 && before < 1e300;
    for (int64_t j = 0; j < n_slots; ++j) {
      D += j;  // the last number of column j
      const double b = double(*D) * f[j], after = before + f[j] * b;
      double lambda = 0, left = 1;
      if (shrinks && b_so_far > 0) lambda = -f[j] / before;  // else S x is still 0 where lambda would multiply it
      if (shrinks && after > 0) left = before / after;
      plan(which, j) = {T(b), T(lambda), T(*D * left)};
      largest = std::fmax(largest, std::fabs(lambda));
      b_so_far += std::fabs(b);
      before = after;
      ++D;
    }
    return largest * std::sqrt(v) < (sizeof(T) == 4 ? 1e25 : 1e250);  // |(S x)_i| <= sqrt(v), since S_ii <= 1
  }
  template <class Row>
  void update(const Row&, int64_t head, int which, double a, double, double) const {
    take_planned_step(head, which, a);
  }

 private:
  [[gnu::noinline]] void take_planned_step(int64_t head, int which, double a) const {
    T* k = scratch + 3 * n_slots;  // becomes S x, for the S before the step
    T* U = factor(head);
    const Plan* p = &plan(which, 0);
    int64_t j = 0;
    for (; j + 4 <= n_slots; j += 4) {
      T* u[4] = {U, U + (j + 1), U + 2 * j + 3, U + 3 * j + 6};
      absorb4(u[0], u[1], u[2], u[3], k, j, p + j);
      for (int c = 0; c < 4; ++c) {  // the corner where the four columns end
        absorb(u[c] + j, k + j, c, p[j + c]);
        finish(u[c] + j + c, k + j + c, p[j + c]);
      }
      U += 4 * j + 10;
    }
    for (; j < n_slots; ++j) {
      absorb(U, k, j, p[j]);
      finish(U + j, k + j, p[j]);
      U += j + 1;
    }
    for (j = 0; j < n_slots; ++j) {
      T* w = weights + j * n_heads + head;
      *w = T(*w + a * k[j]);
    }
  }

  struct Plan {
    T b, lambda, D;
  };
  Plan& plan(int which, int64_t j) const { return reinterpret_cast<Plan*>(scratch + (4 + 3 * which) * n_slots)[j]; }

  // u.x over the first n entries of C columns at once, which reads x once for all. Each column has 64 bytes of partial
  // sums, in as many vectors as this machine needs, so the bits are the same on every machine.
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  static constexpr int kPerVector = kVectorBytes / sizeof(T), kVectors = 64 / kVectorBytes,
                       kWide = kPerVector * kVectors;
  template <int C>
  static void dots(const T* const (&u)[C], const T* x, int64_t n, T* out) {
    Vector sums[C][kVectors] = {};
    int64_t i = 0;
    for (; i + kWide <= n; i += kWide)
      for (int k = 0; k < kVectors; ++k) {
        const Vector x_i = load<Vector>(x + i + k * kPerVector);
        for (int c = 0; c < C; ++c) sums[c][k] += load<Vector>(u[c] + i + k * kPerVector) * x_i;
      }
    for (int c = 0; c < C; ++c) {
      T s[kWide];
      std::memcpy(s, sums[c], sizeof s);
      for (int64_t e = i; e < n; ++e) s[e - i] += u[c][e] * x[e];
      for (int half = kWide / 2; half > 0; half /= 2)
        for (int l = 0; l < half; ++l) s[l] += s[l + half];
      out[c] = s[0];
    }
  }
  static void absorb(T* __restrict u, T* __restrict k, int64_t n, const Plan& p) {
    for (int64_t i = 0; i < n; ++i) {
      const T old = u[i];
      u[i] = old + p.lambda * k[i];
      k[i] += old * p.b;
    }
  }
  // absorb() for four columns at once, which reads and writes k once instead of four times.
  static void absorb4(T* __restrict u0, T* __restrict u1, T* __restrict u2, T* __restrict u3, T* __restrict k,
                      int64_t n, const Plan* p) {
    const Plan p0 = p[0], p1 = p[1], p2 = p[2], p3 = p[3];
    for (int64_t i = 0; i < n; ++i) {
      T x = k[i];
      const T o0 = u0[i], o1 = u1[i], o2 = u2[i], o3 = u3[i];
      u0[i] = o0 + p0.lambda * x;
      x += o0 * p0.b;
      u1[i] = o1 + p1.lambda * x;
      x += o1 * p1.b;
      u2[i] = o2 + p2.lambda * x;
      x += o2 * p2.b;
      u3[i] = o3 + p3.lambda * x;
      k[i] = x + o3 * p3.b;
    }
  }
  static void finish(T* D, T* k, const Plan& p) {
    *D = p.D > kSmallestVariance<T> ? p.D : kSmallestVariance<T>;
    *k = p.b;
  }
};

}  // namespace sureline::SURELINE_ISA
