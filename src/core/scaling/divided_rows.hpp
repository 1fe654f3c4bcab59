// The rows of a task as they are learned from, if they are to be on a common measure (scales.hpp).
#pragma once

#include <memory>
#include <type_traits>

#include "loops/kernels.hpp"
#include "rows/row.hpp"

namespace sureline::SURELINE_ISA {

// Rows are divided some at a time, before the first of these has its turn, and stay in the second cache until then. One
// at a time would be slower: scales and weights would drive each other out of the caches, those of pages above all. The
// scales depend on the rows alone, so the bits are the same. For the same reason a second thread can divide the rows to
// come, if they are many. Compiled in divided_rows.cpp, once for all learners.
template <class Rows>
class DividedRows {
 public:
  using Row = typename Rows::Row;
  DividedRows(const Task& task, const Rows& rows);
  ~DividedRows();

  // Gives x, the k-th row of the pass, the values that it is learned from, and columns that nobody else can change.
  // Each k has its turn, one after the other. The columns of a row have been looked at when its turn has come. What is
  // refused may be a row that comes later.
  Outcome next(int64_t k, double weight, Row& x) {
    if (k == end_)
      if (const Outcome outcome = divide_some(); outcome.refusal != Refusal::none) return outcome;
    if (weight == 0) return {};
    x.values = at_;
    at_ += x.n;
    if constexpr (!Row::dense) x.indices = columns_at_, columns_at_ += x.n;
    return {};
  }

 private:
  using V = std::remove_cvref_t<decltype(*Row::values)>;
  class Blocks;

  Outcome divide_some();

  std::unique_ptr<Blocks> blocks_;  // null if nothing is to be divided
  const V* at_ = nullptr;           // the values of the next row that has a weight, and its columns
  const typename Row::Index* columns_at_ = nullptr;
  int64_t end_ = 0;  // rows of the pass divided so far
};

}  // namespace sureline::SURELINE_ISA
