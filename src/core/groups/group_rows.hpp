// Rows of any layout for the loops over groups, which take columns in any order.
#pragma once

#include <vector>

#include "groups/groups.hpp"
#include "rows/row.hpp"

namespace sureline::groups {

template <class F>
auto with_rows(const Rows& rows, const F& f) {
  return rows.single ? baseline::with_rows<float>(rows, f) : baseline::with_rows<double>(rows, f);
}

// True if a column is out of range or a value not finite.
template <class Row>
bool refused(const Row& x, int64_t n_columns) {
  return x.inspect(n_columns) == Refusal::contents || !(baseline::largest_size(x.values, x.n) < HUGE_VAL);
}

// The entries of a row in some columns.
class Found {
 public:
  // Calls take(position, value) for each, in the order of the row; for a dense row, in the order of the columns.
  template <class Row, class Take>
  void in(const Row& x, const Columns& columns, const Take& take) {
    if constexpr (Row::dense) {
      for (const auto& [column, position] : columns.all()) take(position, x.value(column));
      return;
    }
    if (int64_t(candidates_.size()) < x.size()) candidates_.resize(size_t(x.size()));
    int64_t n = 0;
    for (int64_t j = 0; j < x.size(); ++j) {
      candidates_[size_t(n)] = j;
      n += columns.may_have(x.index(j));
    }
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = candidates_[size_t(i)], p = columns.position(x.index(j));
      if (p >= 0) take(p, x.value(j));
    }
  }

 private:
  std::vector<int64_t> candidates_;
};

}  // namespace sureline::groups
