#include "scaling/divided_rows.hpp"

#include <algorithm>

#include "loops/journal.hpp"
#include "scaling/divider.hpp"
#include "scaling/helper.hpp"

namespace sureline::SURELINE_ISA {

namespace {

constexpr int64_t kBlock = 1 << 15;      // values divided at a time, if they belong to several rows
constexpr int64_t kWorthHelp = 1 << 17;  // from this many values on, a second thread pays

}  // namespace

template <class Rows>
class DividedRows<Rows>::Blocks {
 public:
  struct Block {
    Buffer<V> values;
    Buffer<typename Row::Index> indices;  // empty for dense rows
    int64_t end = 0;                      // of its rows, in the pass
    Outcome outcome;
  };

  Blocks(const Task& task, const Rows& rows)
      : task_(task),
        n_(task.order ? task.n_order : rows.n_rows),
        rows_(rows, task.order, n_, *task.scaling),
        size_(std::min(kBlock, n_values(task.rows))) {
    const auto work = [](void* blocks, int place) { return static_cast<Blocks*>(blocks)->divide(place); };
    // Not if few of the rows are visited.
    if (n_values(task.rows) >= kWorthHelp && 2 * n_ >= rows.n_rows) helper_ = Helper::started(work, this);
  }

  Blocks(const Blocks&) = delete;
  ~Blocks() { delete helper_; }  // first of all: it uses the rest

  Block& next() {
    if (helper_) return blocks_[helper_->next()];
    divide(0);
    return blocks_[0];
  }

 private:
  // The next block. False if it is the last one: a row was refused, or none is left.
  bool divide(int place) {
    Block& block = blocks_[place];
    block.outcome = divide_into(block);
    block.end = next_;
    return block.outcome.refusal == Refusal::none && next_ < n_;
  }
  // The columns of a row are copied into the block before they are looked at: see OwnRow.
  Outcome divide_into(Block& block) {
    int64_t room = 0, n = 0;
    for (; next_ < n_; ++next_) {
      const int64_t row = rows_.row(next_);
      const auto stored = rows_[next_];
      Row x = stored.unchecked();
      if (n > 0 && n + x.n > room) break;
      if (n == 0) {
        room = std::max(x.n, size_);
        if (!block.values.reserve(room) || (!Row::dense && !block.indices.reserve(room))) return {Refusal::memory, row};
      }
      V* const values = block.values.data() + n;
      const Refusal looked = take_copy(x, stored, task_.rows.n_columns, block.indices.data() + n);
      if (looked != Refusal::none) return {looked, row};
      if (task_.sample_weight && task_.sample_weight[row] == 0) continue;
      const Refusal refusal = SURELINE_ISA::divide(*task_.scaling, x, values);
      if (refusal != Refusal::none) return {refusal, row};
      n += x.n;
    }
    return {};
  }

  const Task& task_;
  const int64_t n_;  // rows of the pass
  const Ahead<Rows> rows_;
  const int64_t size_;
  int64_t next_ = 0;
  Block blocks_[Helper::kPlaces];
  Helper* helper_ = nullptr;
};

template <class Rows>
DividedRows<Rows>::DividedRows(const Task& task, const Rows& rows)
    : blocks_(task.scaling ? std::make_unique<Blocks>(task, rows) : nullptr) {}
template <class Rows>
DividedRows<Rows>::~DividedRows() = default;

template <class Rows>
Outcome DividedRows<Rows>::divide_some() {
  auto& block = blocks_->next();
  at_ = block.values.data(), end_ = block.end;
  if constexpr (!Row::dense) columns_at_ = block.indices.data();
  return block.outcome;
}

template class DividedRows<DenseRows<float>>;
template class DividedRows<DenseRows<double>>;
template class DividedRows<CsrRows<float>>;
template class DividedRows<CsrRows<double>>;

}  // namespace sureline::SURELINE_ISA
