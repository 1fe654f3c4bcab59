// The slow half of the checks: starts of rows before their first use, and the message for a refused row.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "loops/kernels.hpp"

namespace sureline {

template <class I>
std::optional<std::string> check_starts(const I* indptr, int64_t n_rows, int64_t n_values, int64_t n_indices) {
  using std::to_string;
  if (indptr[0] != 0) return "indptr[0] is " + to_string(indptr[0]) + ", not 0";
  for (int64_t row = 0; row < n_rows; ++row) {
    const I begin = indptr[row], end = indptr[row + 1];
    if (end < begin)
      return "indptr decreases at row " + to_string(row) + ", from " + to_string(begin) + " to " + to_string(end);
    if (end > n_values || end > n_indices)
      return "row " + to_string(row) + " ends at " + to_string(end) + ", but there are " + to_string(n_indices) +
             " indices and " + to_string(n_values) + " values";
  }
  return {};
}

template <class T>
std::string describe_value(T x, int64_t row, int64_t column) {
  const char* what = x != x           ? "NaN"
                     : sizeof(T) == 4 ? "infinity or a value too large for dtype('float32')"
                                      : "infinity";
  return std::string("Input X contains ") + what + " in row " + std::to_string(row) + ", column " +
         std::to_string(column) + ".";
}

template <class T>
std::string describe_dense(const Rows& rows, int64_t row) {
  const T* x = static_cast<const T*>(rows.values) + row * rows.n_columns;
  for (int64_t column = 0; column < rows.n_columns; ++column)
    if (!std::isfinite(x[column])) return describe_value(x[column], row, column);
  return "Input X changed while it was read, in row " + std::to_string(row) + ".";
}

template <class T, class I>
std::string describe_csr(const Rows& rows, int64_t row) {
  const T* x = static_cast<const T*>(rows.values);
  const I* indices = static_cast<const I*>(rows.indices);
  const I* indptr = static_cast<const I*>(rows.indptr);
  for (int64_t i = indptr[row]; i < indptr[row + 1]; ++i)
    if (indices[i] < 0 || int64_t(indices[i]) >= rows.n_columns)
      return "Input X is not a valid CSR matrix: row " + std::to_string(row) + " has column index " +
             std::to_string(indices[i]) + ", which is outside 0 to " + std::to_string(rows.n_columns - 1) + ".";
  for (int64_t i = indptr[row]; i < indptr[row + 1]; ++i)
    if (!std::isfinite(x[i])) return describe_value(x[i], row, indices[i]);
  return "Input X changed while it was read, in row " + std::to_string(row) + ".";
}

inline std::string describe_row(const Rows& rows, int64_t row) {
  switch (rows.layout) {
    case Rows::Layout::csr32:
      return rows.single ? describe_csr<float, int32_t>(rows, row) : describe_csr<double, int32_t>(rows, row);
    case Rows::Layout::csr64:
      return rows.single ? describe_csr<float, int64_t>(rows, row) : describe_csr<double, int64_t>(rows, row);
    default:
      return rows.single ? describe_dense<float>(rows, row) : describe_dense<double>(rows, row);
  }
}

}  // namespace sureline
