// One example, as the loops see it: size() entries, each a column index and a value.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "loops/kernels.hpp"
#include "rows/vectors.hpp"

namespace sureline::SURELINE_ISA {

// f(), out of the way of what runs for every row: neither inlined nor made fast, which is also most of its compilation.
template <class F>
[[gnu::cold, gnu::noinline]] void rarely(const F& f) {
  f();
}

// Whether n bytes are zero: in whole vectors, the last of which may overlap the one before.
inline bool all_zero(const void* bytes, int64_t n) {
  typedef uint64_t V __attribute__((vector_size(kVectorBytes)));
  const char* p = static_cast<const char*>(bytes);
  if (n < kVectorBytes) {
    for (int64_t i = 0; i < n; ++i)
      if (p[i] != 0) return false;
    return true;
  }
  V any[4] = {};
  int64_t i = 0;
  for (; i + 4 * kVectorBytes <= n; i += 4 * kVectorBytes)
    for (int k = 0; k < 4; ++k) any[k] |= load<V>(p + i + k * kVectorBytes);
  for (; i < n; i += kVectorBytes) any[0] |= load<V>(p + (i + kVectorBytes <= n ? i : n - kVectorBytes));
  const V all = (any[0] | any[1]) | (any[2] | any[3]);
  uint64_t words[kVectorBytes / 8], either = 0;
  __builtin_memcpy(words, &all, sizeof words);
  for (const uint64_t word : words) either |= word;
  return either == 0;
}

// Both of these go over a row in vectors, the last of which may overlap the one before: a leftover handled one by one
// would cost as much as the rest.

template <class I>
inline bool ascends(const I* indices, int64_t n) {
  typedef I V __attribute__((vector_size(kVectorBytes)));
  constexpr int W = kVectorBytes / sizeof(I);
  if (n > W) {
    auto bad = load<V>(indices + 1) <= load<V>(indices);
    for (int64_t i = W; i < n - 1; i += W) {
      const I* at = indices + (i + W < n ? i : n - 1 - W);
      bad |= load<V>(at + 1) <= load<V>(at);
    }
    uint64_t words[kVectorBytes / 8], any = 0;
    __builtin_memcpy(words, &bad, sizeof words);
    for (const uint64_t word : words) any |= word;
    return any == 0;
  }
  for (int64_t i = 1; i < n; ++i)
    if (indices[i] <= indices[i - 1]) return false;
  return true;
}

// The largest of n values in size; infinite if one of them is infinite or NaN. The order of the bits without the sign
// is the order of the sizes.
template <class T>
inline double largest_size(const T* values, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  typedef Bits V __attribute__((vector_size(kVectorBytes)));
  constexpr int W = kVectorBytes / sizeof(T);
  constexpr Bits size_bits = sizeof(T) == 4 ? Bits(0x7fffffff) : Bits(0x7fffffffffffffff);
  constexpr Bits infinity = sizeof(T) == 4 ? Bits(0x7f800000) : Bits(0x7ff0000000000000);
  Bits largest = 0;
  if (n >= W) {
    V sizes = load<V>(values) & size_bits;
    for (int64_t i = W; i < n; i += W) {
      const V more = load<V>(values + (i + W <= n ? i : n - W)) & size_bits;
      sizes = more > sizes ? more : sizes;
    }
    for (int l = 0; l < W; ++l) largest = sizes[l] > largest ? sizes[l] : largest;
  } else {
    for (int64_t i = 0; i < n; ++i) {
      const Bits size = std::bit_cast<Bits>(values[i]) & size_bits;
      largest = size > largest ? size : largest;
    }
  }
  return std::bit_cast<T>(largest < infinity ? largest : infinity);
}

// What inspect() looks at, right before a row is used and while it is on its way into the cache anyway: are its columns
// in range, and do they ascend? Values need no look of their own. One that is not finite makes the score not finite,
// whatever the weight, since infinity times zero is NaN.
template <class T>
struct DenseRow {
  static constexpr bool dense = true, wide = false;
  const T* values;
  int64_t n;
  int64_t size() const { return n; }
  int64_t index(int64_t i) const { return i; }
  T value(int64_t i) const { return values[i]; }
  Refusal inspect(int64_t) const { return Refusal::none; }
};

template <class T, class I>
struct SparseRow {
  static constexpr bool dense = false, wide = sizeof(I) == 8;
  const T* values;
  const I* indices;
  int64_t n;
  int64_t size() const { return n; }
  int64_t index(int64_t i) const { return indices[i]; }
  T value(int64_t i) const { return values[i]; }
  Refusal inspect(int64_t n_columns) const {
    if (n == 0) return Refusal::none;
    if (ascends(indices, n))
      return indices[0] >= 0 && int64_t(indices[n - 1]) < n_columns ? Refusal::none : Refusal::contents;
    for (int64_t i = 0; i < n; ++i)
      if (indices[i] < 0 || int64_t(indices[i]) >= n_columns) return Refusal::contents;
    return Refusal::order;
  }
};

template <class T>
struct DenseRows {
  using Row = DenseRow<T>;
  const T* values;
  int64_t n_rows, n_columns;
  Row operator[](int64_t i) const { return {values + i * n_columns, n_columns}; }
};

template <class T, class I>
struct SparseRows {
  using Row = SparseRow<T, I>;
  const T* values;
  const I* indices;
  const I* indptr;
  int64_t n_rows;
  Row operator[](int64_t i) const {
    return {values + indptr[i], indices + indptr[i], int64_t(indptr[i + 1]) - indptr[i]};
  }
};

// f(rows), with the type that rows of their layout have.
template <class T, class F>
auto with_rows(const Rows& rows, const F& f) {
  const T* values = static_cast<const T*>(rows.values);
  if (rows.layout == Rows::Layout::dense) return f(DenseRows<T>{values, rows.n_rows, rows.n_columns});
  if (rows.layout == Rows::Layout::csr32)
    return f(SparseRows<T, int32_t>{values, static_cast<const int32_t*>(rows.indices),
                                    static_cast<const int32_t*>(rows.indptr), rows.n_rows});
  return f(SparseRows<T, int64_t>{values, static_cast<const int64_t*>(rows.indices),
                                  static_cast<const int64_t*>(rows.indptr), rows.n_rows});
}

// sum of term(0) ... term(n - 1) in L interleaved partial sums: enough of them to keep the adders busy, and their
// number is fixed, so that the result has the same bits whatever width of vector the compiler chose.
template <class A, int L, class Term>
inline A sum(int64_t n, const Term& term) {
  A lanes[L] = {};
  int64_t i = 0;
  for (; i + L <= n; i += L)
    for (int l = 0; l < L; ++l) lanes[l] += term(i + l);
  for (int l = 0; l < L; ++l)  // not up to n - i, which would keep the lanes out of registers
    if (i + l < n) lanes[l] += term(i + l);
  for (int half = L / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

template <class Row>
inline constexpr int kLanes = Row::dense ? 8 : 4;

}  // namespace sureline::SURELINE_ISA
