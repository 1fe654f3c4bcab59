// Packs of four numbers. A formula written for a pack also works for a single number, a pack of width 1, and gives the
// same bits either way.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "rows/row.hpp"

namespace sureline::SURELINE_ISA {

template <class T, int W>
struct PackOf {
  typedef T type __attribute__((vector_size(W * sizeof(T))));
};
template <class T>
struct PackOf<T, 1> {
  using type = T;
};
template <class T, int W>
using Pack = typename PackOf<T, W>::type;

template <int W>
using Width = std::integral_constant<int, W>;
inline constexpr int kFour = 4;

template <int W, class T>
[[gnu::always_inline]] inline Pack<double, W> in_double(Pack<T, W> pack) {
  if constexpr (W == 1) return pack;
#if defined(__AVX__)
  if constexpr (W == 4 && sizeof(T) == 4) return _mm256_cvtps_pd(pack);  // GCC would emit four instructions
#endif
#if defined(__AVX512F__)
  if constexpr (W == 8 && sizeof(T) == 4) return _mm512_maskz_cvtps_pd(0xff, pack);
#endif
  if constexpr (W != 1) return __builtin_convertvector(pack, Pack<double, W>);
}

template <class T, int W>
[[gnu::always_inline]] inline Pack<T, W> narrowed(Pack<double, W> pack) {
  if constexpr (W == 1)
    return T(pack);
  else
    return __builtin_convertvector(pack, Pack<T, W>);
}

// a where `so` is true, else b. `so` is the result of a comparison, of numbers of any size.
template <class T, int W, class So>
[[gnu::always_inline]] inline Pack<T, W> chosen(So so, Pack<T, W> a, Pack<T, W> b) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  if constexpr (W == 1)
    return so ? a : b;
  else
    return __builtin_convertvector(so, Pack<Bits, W>) ? a : b;
}

template <int W, class P>
[[gnu::always_inline]] inline auto lane(const P& pack, int l) {
  if constexpr (W == 1)
    return pack;
  else
    return pack[l];
}

// The values of W entries of a row, from the i-th on.
template <int W, class Row>
[[gnu::always_inline]] inline auto values_at(const Row& x, int64_t i) {
  return load<Pack<std::remove_cvref_t<decltype(*x.values)>, W>>(x.values + i);
}

// Reads and writes two numbers at each of W places.
template <class T, int W>
struct Pairs {
  Pack<T, W> first, second;
};

template <class T>
[[gnu::always_inline]] inline Pack<T, 4> side_by_side(const T* a, const T* b) {
  if constexpr (sizeof(T) == 4)  // as bits: one instruction each
    return std::bit_cast<Pack<T, 4>>(Pack<double, 2>{load<double>(a), load<double>(b)});
  else
    return __builtin_shufflevector(load<Pack<T, 2>>(a), load<Pack<T, 2>>(b), 0, 1, 2, 3);
}

template <class T>
[[gnu::always_inline]] inline Pairs<T, 4> read_pairs(const T* a, const T* b, const T* c, const T* d) {
  const Pack<T, 4> ab = side_by_side(a, b), cd = side_by_side(c, d);
  return {__builtin_shufflevector(ab, cd, 0, 2, 4, 6), __builtin_shufflevector(ab, cd, 1, 3, 5, 7)};
}

template <class T>
[[gnu::always_inline]] inline void write_pairs(const Pairs<T, 4>& pairs, T* a, T* b, T* c, T* d) {
  const auto ab = __builtin_shufflevector(pairs.first, pairs.second, 0, 4, 1, 5);
  const auto cd = __builtin_shufflevector(pairs.first, pairs.second, 2, 6, 3, 7);
  store(a, Pack<T, 2>(__builtin_shufflevector(ab, ab, 0, 1)));  // singly: GCC would turn a loop into a slow scatter
  store(b, Pack<T, 2>(__builtin_shufflevector(ab, ab, 2, 3)));
  store(c, Pack<T, 2>(__builtin_shufflevector(cd, cd, 0, 1)));
  store(d, Pack<T, 2>(__builtin_shufflevector(cd, cd, 2, 3)));
}

// N terms of each of W entries, to be summed.
template <int W, int N>
struct Terms {
  Pack<double, W> at[N];
};

// The sums of N terms over the entries of a row, added as `sum` in row.hpp does. terms(Width<W>, i) returns those of W
// entries from the i-th on.
template <int N, class Row, class F>
inline Terms<1, N> sums_over(const Row& x, const F& terms) {
  if constexpr (Row::dense) {
    struct Lane : Terms<1, N> {
      void operator+=(const Terms<1, N>& more) {
        for (int k = 0; k < N; ++k) this->at[k] += more.at[k];
      }
    };
    return sum<Lane, kLanes<Row>>(x.size(), [&](int64_t i) { return terms(Width<1>(), i); });
  } else {
    static_assert(kLanes<Row> == kFour);
    Pack<double, kFour> lanes[N] = {};
    const int64_t n = x.size(), whole = n - n % kFour;
    for (int64_t i = 0; i < whole; i += kFour) {
      const auto four = terms(Width<kFour>(), i);
      for (int k = 0; k < N; ++k) lanes[k] += four.at[k];
    }
    for (int l = 0; l < kFour - 1; ++l)
      if (whole + l < n) {
        const auto one = terms(Width<1>(), whole + l);
        for (int k = 0; k < N; ++k) lanes[k][l] += one.at[k];
      }
    Terms<1, N> sums;
    for (int k = 0; k < N; ++k) sums.at[k] = (lanes[k][0] + lanes[k][2]) + (lanes[k][1] + lanes[k][3]);
    return sums;
  }
}

}  // namespace sureline::SURELINE_ISA
