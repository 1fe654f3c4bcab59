// What a caller hands over as rows is believed only after this: no index, length or value reaches a loop unchecked.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "kernels.hpp"

namespace sureline {

template <class T>
inline bool is_finite(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits exponent = sizeof(T) == 4 ? Bits(0x7f800000u) : Bits(0x7ff0000000000000ull);
  return (std::bit_cast<Bits>(x) & exponent) != exponent;
}

template <class T>
inline bool all_finite(const T* x, int64_t n) {
  int bad = 0;  // no early exit: the loop vectorises
  for (int64_t i = 0; i < n; ++i) bad |= !is_finite(x[i]);
  return bad == 0;
}

template <class T>
inline std::string not_finite(T x, int64_t row, int64_t column) {
  const char* what = x != x ? "NaN" : sizeof(T) == 4 ? "infinity or a value too large for dtype('float32')" : "infinity";
  return std::string("Input X contains ") + what + " in row " + std::to_string(row) + ", column " + std::to_string(column) + ".";
}

// Each returns what is wrong, or nothing.

template <class T>
std::optional<std::string> check_dense(const T* x, int64_t n_rows, int64_t n_columns) {
  for (int64_t row = 0; row < n_rows; ++row, x += n_columns) {
    if (all_finite(x, n_columns)) continue;
    for (int64_t column = 0; column < n_columns; ++column)
      if (!is_finite(x[column])) return not_finite(x[column], row, column);
  }
  return {};
}

// `ascending` is set to false where the columns of some row do not strictly ascend (unsorted, or one twice).
template <class T, class I>
std::optional<std::string> check_csr(const T* x, int64_t n_values, const I* indices, int64_t n_indices, const I* indptr,
                                     int64_t n_indptr, int64_t n_columns, bool& ascending) {
  using std::to_string;
  ascending = true;
  if (n_indptr < 1) return "Input X is not a valid CSR matrix: indptr is empty; it needs one entry more than there are rows.";
  if (indptr[0] != 0) return "Input X is not a valid CSR matrix: indptr[0] is " + to_string(indptr[0]) + ", not 0.";
  for (int64_t row = 0; row + 1 < n_indptr; ++row) {
    if (indptr[row + 1] < indptr[row])
      return "Input X is not a valid CSR matrix: indptr decreases at row " + to_string(row) + ", from " + to_string(indptr[row]) +
             " to " + to_string(indptr[row + 1]) + ".";
    if (indptr[row + 1] > n_values || indptr[row + 1] > n_indices)
      return "Input X is not a valid CSR matrix: row " + to_string(row) + " ends at " + to_string(indptr[row + 1]) + ", but there are " +
             to_string(n_indices) + " indices and " + to_string(n_values) + " values.";
  }
  for (int64_t row = 0; row + 1 < n_indptr; ++row) {
    const int64_t begin = indptr[row], end = indptr[row + 1];
    if (begin == end) continue;
    int descends = 0;
    for (int64_t i = begin + 1; i < end; ++i) descends |= indices[i] <= indices[i - 1];
    if (descends || indices[begin] < 0 || int64_t(indices[end - 1]) >= n_columns) {
      if (descends) ascending = false;
      for (int64_t i = begin; i < end; ++i)
        if (indices[i] < 0 || int64_t(indices[i]) >= n_columns)
          return "Input X is not a valid CSR matrix: row " + to_string(row) + " has column index " + to_string(indices[i]) +
                 ", which is outside 0 to " + to_string(n_columns - 1) + ".";
    }
    if (!all_finite(x + begin, end - begin))
      for (int64_t i = begin; i < end; ++i)
        if (!is_finite(x[i])) return not_finite(x[i], row, indices[i]);
  }
  return {};
}

}  // namespace sureline
