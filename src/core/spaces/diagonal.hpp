// The identity and the diagonal covariance: reading and writing a row's weights. O(nonzeros), whatever the width.
#pragma once

#include <bit>
#include <type_traits>

#include "rows/packs.hpp"

namespace sureline::SURELINE_ISA {

// S is stored with the bits of 1 flipped, so zero bytes mean 1. A fresh zero-mapped array is then a fresh model, and
// untouched pages cost nothing. The conversion is exact both ways.
template <int W, class T>
[[gnu::always_inline]] inline Pack<T, W> flip_ones(Pack<T, W> S) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return std::bit_cast<Pack<T, W>>(Pack<Bits, W>(std::bit_cast<Pack<Bits, W>>(S) ^ std::bit_cast<Bits>(T(1))));
}
template <class T>
inline T flip_one(T S) {
  return flip_ones<1, T>(S);
}

// The least variance. CW on noise takes away a fixed share with every step, until the exponent would underflow.
template <class T>
inline constexpr T kSmallestVariance = sizeof(T) == 4 ? T(1e-30) : T(1e-150);

// A step is computed in the scalar type of the state, unless its coefficients are out of that type's range (rows that
// are very short or very long).
template <class T, class Body>
inline void in_which_scalars(double a, double beta, const Body& body) {
  const double size = a < 0 ? -a : a;
  const bool fits = (size == 0 || (size > 1e-30 && size < 1e30)) && (beta == 0 || (beta > 1e-30 && beta < 1e30));
  if (sizeof(T) == 8 || fits)
    body(T(a), T(beta));
  else
    rarely([&] { body(a, beta); });
}

// True if a model of one head may be in the space. A space for any number of heads has one only where no space for one
// head stands beside it (learn.hpp).
template <class Space>
inline constexpr bool kMayHaveOneHead = Space::kOneHead || Space::kForAllHeads;

// one_head: the model has a single head, known at compile time. That saves a multiplication per nonzero.
template <class T_, bool one_head>
struct Identity {
  using T = T_;
  static constexpr int kWidth = 1;  // numbers of a weight that lie together
  static constexpr bool kTheta = false;
  static constexpr bool kCovariance = false;
  static constexpr bool kPaired = false;  // whether a weight and its variance lie together
  static constexpr bool kSelects = true;
  static constexpr bool kKeysFall = false;
  static constexpr bool kOneHead = one_head, kForAllHeads = false;
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
    const auto sums = sums_over<1>(x, [&]<int W>(Width<W>, int64_t i) {
      const auto value = in_double<W, T>(values_at<W>(x, i));
      if constexpr (W == 1)
        return Terms<W, 1>{value * *at(x.index(i), head)};
      else
        return Terms<W, 1>{value * in_double<W, T>(Pack<T, W>{*at(x.index(i), head), *at(x.index(i + 1), head),
                                                              *at(x.index(i + 2), head), *at(x.index(i + 3), head)})};
    });
    return intercept ? sums.at[0] + *at(-1, head) : sums.at[0];
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
    const Row row = x;             // copies, which writes through T* cannot change: else the compiler does not
    const Identity space = *this;  // always use vectors
    in_which_scalars<T>(a, 0, [&](auto a_, auto) {
      using A = decltype(a_);
      for (int64_t i = 0; i < row.size(); ++i) step<A>(space.at(row.index(i), head), a_, row.value(i));
      if (space.intercept) step<A>(space.at(-1, head), a_, 1);
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
  static constexpr bool kPaired = true;
  static constexpr bool kSelects = !theta;
  static constexpr bool kKeysFall = true;
  static constexpr bool kOneHead = one_head, kForAllHeads = false;
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
    const auto sums = sums_over<1>(x, [&]<int W>(Width<W>, int64_t i) {
      const auto [w, S] = read<W>(x, i, head);
      return Terms<W, 1>{in_double<W, T>(values_at<W>(x, i)) * weights_of<W>(w, S)};
    });
    return intercept ? sums.at[0] + weight(at(-1, head)) : sums.at[0];
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
    const auto sums = sums_over<1>(x, [&]<int W>(Width<W>, int64_t i) {
      const auto value = in_double<W, T>(values_at<W>(x, i));
      return Terms<W, 1>{value * value * in_double<W, T>(read<W>(x, i, head).second)};
    });
    return intercept ? sums.at[0] + S(at(-1, head)) : sums.at[0];
  }
  template <class Row>
  double score_and_variance(const Row& x, int64_t head, double& v) const {
    const auto sums = sums_over<2>(x, [&]<int W>(Width<W>, int64_t i) {
      const auto [w, S] = read<W>(x, i, head);
      const auto value = in_double<W, T>(values_at<W>(x, i));
      return Terms<W, 2>{{value * weights_of<W>(w, S), value * value * in_double<W, T>(S)}};
    });
    v = intercept ? sums.at[1] + S(at(-1, head)) : sums.at[1];
    return intercept ? sums.at[0] + weight(at(-1, head)) : sums.at[0];
  }
  // S_j - beta S_j^2 x_j^2, never below keep S_j. keep = 1 - beta v is the share that the whole row would leave, and
  // that a row of one entry leaves exactly. If keep is small, the difference could round to less, or to zero.
  template <class Row>
  void update(const Row& x, int64_t head, int, double a, double beta, double keep) const {
    if (keep > 1e-3)
      update<false>(x, head, a, beta, keep);
    else
      update<true>(x, head, a, beta, keep);
  }

 private:
  // The stored numbers of W entries of a row, from the i-th on, with S decoded.
  template <int W, class Row>
  [[gnu::always_inline]] Pairs<T, W> read(const Row& x, int64_t i, int64_t head) const {
    const T* p = at(x.index(i), head);
    if constexpr (W == 1) {
      return {p[0], flip_one(p[1])};
    } else {
      const Pairs<T, W> stored =
          read_pairs<T>(p, at(x.index(i + 1), head), at(x.index(i + 2), head), at(x.index(i + 3), head));
      return {stored.first, flip_ones<W, T>(stored.second)};
    }
  }
  template <int W>
  [[gnu::always_inline]] static Pack<double, W> weights_of(Pack<T, W> stored, Pack<T, W> S) {
    return theta ? in_double<W, T>(stored) * in_double<W, T>(S) : in_double<W, T>(stored);
  }
  template <bool guarded, class Row>
  void update(const Row& shared, int64_t head, double a, double beta, double keep) const {
    const Row x = shared;          // copies, which writes through T* cannot change: else the compiler does not
    const Diagonal space = *this;  // always use vectors
    in_which_scalars<T>(a, beta, [&](auto a_, auto beta_) {
      using A = decltype(a_);
      const A keep_ = A(keep);
      int64_t i = 0;
      // A column occurs once in a row, so four places can be read before the first is written.
      if constexpr (!Row::dense && std::is_same_v<A, T>)
        for (; i + kFour <= x.size(); i += kFour) {
          Pairs<T, kFour> four = space.template read<kFour>(x, i, head);
          step<guarded, kFour, T>(four, a_, beta_, keep_, values_at<kFour>(x, i));
          write_pairs<T>({four.first, stored<kFour>(four.second)}, space.at(x.index(i), head),
                         space.at(x.index(i + 1), head), space.at(x.index(i + 2), head),
                         space.at(x.index(i + 3), head));
        }
      const auto step_at = [&](T* p, A value) {
        Pairs<A, 1> one = {p[0], flip_one(p[1])};
        step<guarded, 1, A>(one, a_, beta_, keep_, value);
        p[0] = T(one.first), p[1] = stored<1>(T(one.second));
      };
      for (; i < x.size(); ++i) step_at(space.at(x.index(i), head), x.value(i));
      if (space.intercept) step_at(space.at(-1, head), 1);
    });
  }
  template <bool guarded, int W, class A>
  [[gnu::always_inline]] static void step(Pairs<A, W>& pairs, A a, A beta, A keep, Pack<A, W> x) {
    auto& [w, S] = pairs;
    const Pack<A, W> Sx = S * x;
    Pack<A, W> left = A(1) - beta * Sx * x;
    if (guarded) left = left > keep ? left : keep;
    w = w + a * (theta ? x : Sx);
    S = S * left;
  }
  template <int W>
  [[gnu::always_inline]] static Pack<T, W> stored(Pack<T, W> S) {
    return flip_ones<W, T>(S > kSmallestVariance<T> ? S : Pack<T, W>{} + kSmallestVariance<T>);
  }
};

}  // namespace sureline::SURELINE_ISA
