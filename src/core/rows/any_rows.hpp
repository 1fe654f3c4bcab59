// Rows of any layout and scalar, and their products with weights in double.
#pragma once

#include <cmath>

#include "rows/row.hpp"

namespace sureline::SURELINE_ISA {

template <class F>
Outcome with_any_rows(const Rows& rows, const F& f) {
  return rows.single ? with_rows<float>(rows, f) : with_rows<double>(rows, f);
}

// The refusal of a row with a sum that is not finite.
template <class Row>
Refusal why_not_finite(const Row& x) {
  for (int64_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x.value(i))) return Refusal::contents;
  return Refusal::score;
}

// sum_j x_j weight(slot of j), after a check of the row. A value that is not finite makes the sum not finite, whatever
// the weight, since infinity times zero is NaN.
template <class Row, class Weight>
[[gnu::always_inline]] inline Refusal product(const Row& x, int64_t n_columns, double from, const Weight& weight,
                                              double& result) {
  if (const Refusal refusal = x.inspect(n_columns); refusal != Refusal::none) return refusal;
  result = from + sum<double, kLanes<Row>>(
                      x.size(), [&](int64_t i) { return double(x.value(i)) * weight(x.index(i) + 1, x.value(i)); });
  return std::isfinite(result) ? Refusal::none : why_not_finite(x);
}

}  // namespace sureline::SURELINE_ISA
