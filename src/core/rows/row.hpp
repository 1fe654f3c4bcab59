// One example, as the loops see it: size() entries, each a column index and a value.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "loops/kernels.hpp"
#include "memory/buffer.hpp"
#include "rows/vectors.hpp"

namespace sureline::SURELINE_ISA {

// Calls f() out of line, optimised for size. Rare paths stay out of the loops, and compile quickly.
template <class F>
[[gnu::cold, gnu::noinline]] void rarely(const F& f) {
  f();
}

// True if n bytes are zero. Reads whole vectors; the last may overlap the one before.
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

// Both of these read a row in vectors, the last of which may overlap the one before. Handling the rest one by one would
// cost as much as the vectors.

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

// The largest absolute value of n; infinite if one of them is infinite or NaN. Without the sign, the order of the bits
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

// inspect() checks that columns are in range and ascend. It runs right before a row is used, which brings the row into
// the cache anyway. Values need no check: one that is not finite makes the score not finite, whatever the weight, since
// infinity times zero is NaN.
template <class T>
struct DenseRow {
  using Value = T;
  using Index = int64_t;  // none is stored
  static constexpr bool dense = true;
  const T* values;
  int64_t n;
  int64_t size() const { return n; }
  int64_t index(int64_t i) const { return i; }
  T value(int64_t i) const { return values[i]; }
  Refusal inspect(int64_t) const { return Refusal::none; }
  DenseRow unchecked() const { return *this; }
};

template <class T, class I>
struct SparseRow {
  using Value = T;
  using Index = I;
  static constexpr bool dense = false;
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
  using Stored = DenseRow<T>;
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

// Sparse rows as the loops go over them, which are compiled once for both types of indices. Columns are below 2^31, so
// that those of wide indices are narrowed where rows are copied (below), and only int32 are learned from.
template <class T>
struct CsrRows {
  using Row = SparseRow<T, int32_t>;
  // A row as it is stored, unchecked.
  struct Stored {
    const T* values;
    const void* indices;
    int64_t n;
    bool wide;
    int64_t size() const { return n; }
    int64_t index(int64_t i) const { return wide ? all_wide()[i] : narrow()[i]; }
    const int32_t* narrow() const { return static_cast<const int32_t*>(indices); }
    const int64_t* all_wide() const { return static_cast<const int64_t*>(indices); }
    Row unchecked() const { return {values, narrow(), n}; }
  };
  const T* values;
  const void* indices;
  const void* indptr;
  int64_t n_rows;
  bool wide;
  Stored operator[](int64_t i) const { return wide ? stored<int64_t>(i) : stored<int32_t>(i); }

 private:
  template <class I>
  Stored stored(int64_t i) const {
    const I* starts = static_cast<const I*>(indptr);
    return {values + starts[i], static_cast<const I*>(indices) + starts[i], int64_t(starts[i + 1]) - starts[i], wide};
  }
};

// The arrays of the rows are the caller's, and another thread may change them while they are read. So a row is copied
// before anybody looks at it, and what was looked at is what is used. The copying is done here, in registers, on the
// way to the look: a call of memcpy costs a tenth of what a short row takes.

template <class T>
inline const T* copied(const T* from, int64_t n, T* to) {
  typedef uint64_t V __attribute__((vector_size(kVectorBytes)));
  constexpr int W = kVectorBytes / sizeof(T);
  if (n < W) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
    return to;
  }
  int64_t i = 0;
  for (; i + W <= n; i += W) store(to + i, load<V>(from + i));
  if (i < n) store(to + n - W, load<V>(from + n - W));
  return to;
}

// The last entry of `before`, and then all of `v` but its last.
template <class V, size_t... l>
[[gnu::always_inline]] inline V shifted(const V& before, const V& v, std::index_sequence<l...>) {
  constexpr int W = sizeof...(l);
  return __builtin_shufflevector(before, v, (W - 1 + int(l))...);
}

// Copies indices; whether they ascend, from 0 on. Each entry of the copy was looked at as it is there: of the last
// vector, which may overlap the one before, those that were there are replaced.
template <class I>
inline bool copied_ascending(const I* from, int64_t n, I* to) {
  typedef I V __attribute__((vector_size(kVectorBytes)));
  constexpr int W = kVectorBytes / sizeof(I);
  if (n < W) {
    I before = -1, bad = 0;
    for (int64_t i = 0; i < n; ++i) {
      const I index = from[i];
      bad |= I(index <= before);
      to[i] = before = index;
    }
    return bad == 0;
  }
  constexpr auto lanes = std::make_index_sequence<W>();
  V before = V{} - 1;
  auto bad = before != before;
  int64_t i = 0;
  for (; i + W <= n; i += W) {
    const V v = load<V>(from + i);
    bad |= v <= shifted(before, v, lanes);
    store(to + i, v);
    before = v;
  }
  if (i < n) {
    const V v = load<V>(from + n - W);
    bad |= v <= shifted(V{} + to[n - W - 1], v, lanes);
    store(to + n - W, v);
  }
  return all_zero(&bad, sizeof bad);
}

// The same for wide indices, which are narrowed. Returns the last one, or -1 if they do not ascend.
inline int64_t narrowed_ascending(const int64_t* from, int64_t n, int32_t* to) {
  int64_t before = -1;
  bool bad = false;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = from[i];
    bad |= index <= before;
    to[i] = int32_t(index);
    before = index;
  }
  return bad ? -1 : before;
}

// x gets copies of its indices in that memory, which are then checked.
template <class T>
inline Refusal take_copy(DenseRow<T>&, int64_t, int64_t*) {
  return Refusal::none;
}
template <class T, class I>
inline Refusal take_copy(SparseRow<T, I>& x, int64_t n_columns, I* indices) {
  const bool ascends = copied_ascending(x.indices, x.n, indices);
  x.indices = indices;
  if (x.n == 0) return Refusal::none;
  return ascends && int64_t(indices[x.n - 1]) < n_columns ? Refusal::none : x.inspect(n_columns);
}

// x gets its indices, as copies in that memory.
template <class T>
inline Refusal take_copy(DenseRow<T>&, const DenseRow<T>&, int64_t, int64_t*) {
  return Refusal::none;
}
template <class T>
inline Refusal take_copy(SparseRow<T, int32_t>& x, const typename CsrRows<T>::Stored& stored, int64_t n_columns,
                         int32_t* indices) {
  if (!stored.wide) return take_copy(x, n_columns, indices);
  const int64_t last = narrowed_ascending(stored.all_wide(), x.n, indices);
  x.indices = indices;
  if (x.n == 0 || (last >= 0 && last < n_columns)) return Refusal::none;
  const Refusal why = SparseRow<T, int64_t>{x.values, stored.all_wide(), x.n}.inspect(n_columns);
  return why == Refusal::none ? Refusal::contents : why;  // another thread has mended it meanwhile
}

// Memory for the copy of one row at a time.
template <class Row>
class OwnRow {
 public:
  // Checks x, which becomes a copy of the parts that other threads might change. Values that are read once need no
  // copy.
  Refusal admit(Row& x, const Rows& rows, bool often = false) {
    if (often && !rows.steady_values && !copy_values(x)) return Refusal::memory;
    if (Row::dense || rows.steady_indices) return x.inspect(rows.n_columns);
    if (!indices_.reserve(x.n)) return Refusal::memory;
    return take_copy(x, rows.n_columns, indices_.data());
  }
  // The same for a row of the loops, as stored.
  template <class Stored>
  Refusal admit(Row& x, const Stored& stored, const Rows& rows, bool often = false) {
    if constexpr (!Row::dense)
      if (stored.wide) {
        if (often && !rows.steady_values && !copy_values(x)) return Refusal::memory;
        if (!indices_.reserve(x.n)) return Refusal::memory;
        return take_copy(x, stored, rows.n_columns, indices_.data());
      }
    return admit(x, rows, often);
  }

 private:
  bool copy_values(Row& x) {
    if (!values_.reserve(x.n)) return false;
    x.values = copied(x.values, x.n, values_.data());
    return true;
  }

  Buffer<typename Row::Value> values_;
  Buffer<typename Row::Index> indices_;
};

// Calls f(rows) with the rows as the loops take them.
template <class T, bool dense, class F>
auto with_loop_rows(const Rows& rows, const F& f) {
  const T* values = static_cast<const T*>(rows.values);
  if constexpr (dense)
    return f(DenseRows<T>{values, rows.n_rows, rows.n_columns});
  else
    return f(CsrRows<T>{values, rows.indices, rows.indptr, rows.n_rows, rows.layout == Rows::Layout::csr64});
}

// Calls f(rows) with the row type of their layout.
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

// Sum of term(0) ... term(n - 1) in L interleaved partial sums. They keep the adders busy. Their number is fixed, so
// the result has the same bits for every vector width.
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
