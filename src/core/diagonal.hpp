// The identity and the diagonal covariance: what a row reads and what a step writes. O(nonzeros), whatever the width.
#pragma once

#include <bit>
#include <type_traits>

#include "row.hpp"

namespace sureline::SURELINE_ISA {

// S is stored with the bits of 1 flipped, so that zero bytes mean 1: a fresh zero-mapped array is a fresh model and its
// untouched pages cost nothing. Exact both ways.
template <class T>
inline T flip_one(T S) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return std::bit_cast<T>(Bits(std::bit_cast<Bits>(S) ^ std::bit_cast<Bits>(T(1))));
}

// Variances shrink no further than this: CW on noise takes away a fixed share with every step, and below lies the end
// of the exponents.
template <class T>
inline constexpr T kSmallestVariance = sizeof(T) == 4 ? T(1e-30) : T(1e-150);

// A step is computed in the scalars of the state, unless its coefficients are too large or too small for them (rows
// that are very short or very long).
template <class T, class Body>
inline void in_which_scalars(double a, double beta, const Body& body) {
  const double size = a < 0 ? -a : a;
  const bool fits = (size == 0 || (size > 1e-30 && size < 1e30)) && (beta == 0 || (beta > 1e-30 && beta < 1e30));
  if (sizeof(T) == 8 || fits)
    body(T(a), T(beta));
  else
    body(a, beta);
}

// one_head: the model has a single head, known when the loop is compiled, which spares a multiplication per nonzero.
template <class T_, bool one_head>
struct Identity {
  using T = T_;
  static constexpr int kWidth = 1;  // numbers of a weight that lie together
  static constexpr bool kTheta = false;
  static constexpr bool kCovariance = false;
  static constexpr bool kSelects = true;
  static constexpr bool kKeysFall = false;
  static constexpr bool kFetchesAhead = one_head;  // while a score is summed up
  T* weights;
  int64_t n_slots, n_heads;
  bool intercept;

  T* at(int64_t column, int64_t head) const {
    return one_head ? weights + (column + 1) : weights + (column + 1) * n_heads + head;
  }

  static double weight(const T* p) { return *p; }
  static double key(const T* p) { return *p < 0 ? double(*p) : -double(*p); }  // for a Selection

  template <class Row>
  double score(const Row& x, int64_t head) const {
    const double f = sum_over<double>(x, [&](int64_t i) { return double(x.value(i)) * *at(x.index(i), head); });
    return intercept ? f + *at(-1, head) : f;
  }
  template <class Row>
  void scores(const Row& x, double* f) const {
    if (one_head) {
      f[0] = score(x, 0);
      return;
    }
    for (int64_t head = 0; head < n_heads; ++head) f[head] = intercept ? double(*at(-1, head)) : 0.0;
    for (int64_t i = 0; i < x.size(); ++i) {
      const T* w = at(x.index(i), 0);
      const double value = x.value(i);
      for (int64_t head = 0; head < n_heads; ++head) f[head] += value * w[head];
    }
  }
  template <class Row>
  double variance(const Row& x, int64_t, int) const {
    const double v = sum<double, kLanes<Row>>(x.size(), [&](int64_t i) { return double(x.value(i)) * x.value(i); });
    return intercept ? v + 1 : v;
  }
  template <class Row>
  double score_and_variance(const Row& x, int64_t head, double& v) const {
    v = variance(x, head, 0);
    return score(x, head);
  }
  template <class Row>
  void update(const Row& x, int64_t head, int, double a, double, double) const {
    in_which_scalars<T>(a, 0, [&](auto a_, auto) {
      using A = decltype(a_);
      for (int64_t i = 0; i < x.size(); ++i) step<A>(at(x.index(i), head), a_, x.value(i));
      if (intercept) step<A>(at(-1, head), a_, 1);
    });
  }

 private:
  template <class A>
  static void step(T* w, A a, A x) {
    *w = T(*w + a * x);
  }
};

template <class T_, bool theta, bool one_head>
struct Diagonal {
  using T = T_;
  static constexpr int kWidth = 2;
  static constexpr bool kTheta = theta;
  static constexpr bool kCovariance = true;
  static constexpr bool kSelects = !theta;
  static constexpr bool kKeysFall = true;
  static constexpr bool kFetchesAhead = one_head;
  T* weights;
  int64_t n_slots, n_heads;
  bool intercept;

  T* at(int64_t column, int64_t head) const {
    return one_head ? weights + 2 * (column + 1) : weights + 2 * ((column + 1) * n_heads + head);
  }
  static double S(const T* p) { return flip_one(p[1]); }
  static double key(const T* p) { return S(p); }  // for a Selection
  static double weight(const T* p) { return theta ? p[0] * S(p) : double(p[0]); }

  template <class Row>
  double score(const Row& x, int64_t head) const {
    const double f = sum_over<double>(x, [&](int64_t i) { return x.value(i) * weight(at(x.index(i), head)); });
    return intercept ? f + weight(at(-1, head)) : f;
  }
  template <class Row>
  void scores(const Row& x, double* f) const {
    if (one_head) {
      f[0] = score(x, 0);
      return;
    }
    for (int64_t head = 0; head < n_heads; ++head) f[head] = intercept ? weight(at(-1, head)) : 0.0;
    for (int64_t i = 0; i < x.size(); ++i) {
      const T* p = at(x.index(i), 0);
      const double value = x.value(i);
      for (int64_t head = 0; head < n_heads; ++head) f[head] += value * weight(p + 2 * head);
    }
  }
  template <class Row>
  double variance(const Row& x, int64_t head, int) const {
    const double v = sum<double, kLanes<Row>>(x.size(), [&](int64_t i) {
      const double value = x.value(i);
      return value * value * S(at(x.index(i), head));
    });
    return intercept ? v + S(at(-1, head)) : v;
  }
  template <class Row>
  double score_and_variance(const Row& x, int64_t head, double& v) const {
    struct Pair {
      double f, v;
      void operator+=(const Pair& other) { f += other.f, v += other.v; }
    };
    const Pair pair = sum_over<Pair>(x, [&](int64_t i) {
      const T* p = at(x.index(i), head);
      const double value = x.value(i);
      return Pair{value * weight(p), value * value * S(p)};
    });
    v = intercept ? pair.v + S(at(-1, head)) : pair.v;
    return intercept ? pair.f + weight(at(-1, head)) : pair.f;
  }
  // S_j - beta S_j^2 x_j^2, never below keep S_j: keep = 1 - beta v is what the whole row would leave, and what a row
  // of one entry leaves exactly. Only where keep is small can the difference round to less, or to nothing.
  template <class Row>
  void update(const Row& x, int64_t head, int, double a, double beta, double keep) const {
    if (keep > 1e-3)
      update<false>(x, head, a, beta, keep);
    else
      update<true>(x, head, a, beta, keep);
  }

 private:
  template <bool guarded, class Row>
  void update(const Row& x, int64_t head, double a, double beta, double keep) const {
    in_which_scalars<T>(a, beta, [&](auto a_, auto beta_) {
      using A = decltype(a_);
      for (int64_t i = 0; i < x.size(); ++i) step<guarded, A>(at(x.index(i), head), a_, beta_, A(keep), x.value(i));
      if (intercept) step<guarded, A>(at(-1, head), a_, beta_, A(keep), 1);
    });
  }
  template <bool guarded, class A>
  static void step(T* p, A a, A beta, A keep, A x) {
    const A variance = flip_one(p[1]), Sx = variance * x;
    p[0] = T(p[0] + a * (theta ? x : Sx));
    const A left = 1 - beta * Sx * x;
    const T smaller = T(variance * (!guarded || left > keep ? left : keep));
    p[1] = flip_one(smaller > kSmallestVariance<T> ? smaller : kSmallestVariance<T>);
  }
};

}  // namespace sureline::SURELINE_ISA
