// Rows of any layout for the loops over groups, which take columns in any order.
#pragma once

#include "row.hpp"

namespace sureline::groups {

using sureline::baseline::DenseRows;
using sureline::baseline::SparseRows;

template <class T, class F>
auto with_rows_of(const Rows& rows, const F& f) {
  const T* values = static_cast<const T*>(rows.values);
  if (rows.layout == Rows::Layout::dense) return f(DenseRows<T>{values, rows.n_rows, rows.n_columns});
  if (rows.layout == Rows::Layout::csr32)
    return f(SparseRows<T, int32_t>{values, static_cast<const int32_t*>(rows.indices),
                                    static_cast<const int32_t*>(rows.indptr), rows.n_rows});
  return f(SparseRows<T, int64_t>{values, static_cast<const int64_t*>(rows.indices),
                                  static_cast<const int64_t*>(rows.indptr), rows.n_rows});
}

template <class F>
auto with_rows(const Rows& rows, const F& f) {
  return rows.single ? with_rows_of<float>(rows, f) : with_rows_of<double>(rows, f);
}

// Whether a column is out of range or a value not finite.
template <class Row>
bool refused(const Row& x, int64_t n_columns) {
  return x.inspect(n_columns) == Refusal::contents || !(baseline::largest_size(x.values, x.n) < HUGE_VAL);
}

}  // namespace sureline::groups
