// One example, as the loops see it: size() entries, each a column index and a value.
#pragma once

#include <cstdint>

namespace sureline::SURELINE_ISA {

template <class T>
struct DenseRow {
  static constexpr bool dense = true;
  const T* values;
  int64_t n;
  int64_t size() const { return n; }
  int64_t index(int64_t i) const { return i; }
  T value(int64_t i) const { return values[i]; }
};

template <class T, class I>
struct SparseRow {
  static constexpr bool dense = false;
  const T* values;
  const I* indices;
  int64_t n;
  int64_t size() const { return n; }
  int64_t index(int64_t i) const { return indices[i]; }
  T value(int64_t i) const { return values[i]; }
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
  Row operator[](int64_t i) const { return {values + indptr[i], indices + indptr[i], int64_t(indptr[i + 1]) - indptr[i]}; }
};

// sum of term(0) ... term(n - 1) in L interleaved partial sums: enough of them to keep the adders busy, and their
// number is fixed, so that the result has the same bits whatever width of vector the compiler chose.
template <class A, int L, class Term>
inline A sum(int64_t n, const Term& term) {
  A lanes[L] = {};
  int64_t i = 0;
  for (; i + L <= n; i += L)
    for (int l = 0; l < L; ++l) lanes[l] += term(i + l);
  for (int l = 0; i < n; ++i, ++l) lanes[l] += term(i);
  for (int half = L / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

template <class Row>
inline constexpr int kLanes = Row::dense ? 8 : 4;

}  // namespace sureline::SURELINE_ISA
