// What a batch changed, so that a refused row can take the whole batch back. Its cost follows the batch, not the width
// of the model, which is why small batches of a wide model use it rather than a copy.
#pragma once

#include "memory/buffer.hpp"
#include "memory/touched.hpp"
#include "rows/row.hpp"

namespace sureline::SURELINE_ISA {

template <class Space>
class Journal {
 public:
  using T = typename Space::T;
  explicit Journal(bool on) : on_(on) {}

  // Each returns false if there is no memory left to remember with.
  template <class Row>
  bool before_update(const Space& space, const Row& x, int64_t row, int64_t head) {
    return !on_ || remember(space, x, row, head);
  }
  // Room for n single weights, and then each of them.
  bool reserve(int64_t n) { return !on_ || (entries_.reserve(n) && values_.reserve(n * Space::kWidth)); }
  void before_changing(const Space& space, int64_t column, int64_t head) {
    if (!on_) return;
    save(space.at(column, head));
    entries_.push({kOne, column, head});
  }
  // What is zero now and written later has an entry of its own then.
  [[gnu::cold, gnu::noinline]] bool before_rewriting_all(const Space& space) {
    if (!on_) return true;
    const int64_t numbers = space.n_heads * Space::kWidth;
    bool room = true;
    each_touched_block(space, [&](int64_t begin, int64_t end) {
      room = room && entries_.reserve(1) && values_.reserve((end - begin) * numbers);
      if (!room) return;
      for (int64_t i = begin * numbers; i < end * numbers; ++i) values_.push(space.weights[i]);
      entries_.push({kBlock, begin, end});
    });
    return room;
  }
  template <class Rows>
  [[gnu::cold, gnu::noinline]] void undo(const Space& space, const Rows& rows) {
    while (entries_.size() > 0) {
      const Entry entry = entries_.pop();
      if (entry.row == kOne) {
        restore(space.at(entry.column, entry.head));
        continue;
      }
      if (entry.row == kBlock) {
        const int64_t numbers = space.n_heads * Space::kWidth;
        for (int64_t i = entry.head * numbers; i-- > entry.column * numbers;) space.weights[i] = values_.pop();
        continue;
      }
      const auto x = rows[entry.row];
      restore(space.at(-1, entry.head));
      for (int64_t i = x.size(); i-- > 0;) restore(space.at(x.index(i), entry.head));
    }
  }

 private:
  // In place of a row. A block has the slots from `column` to `head`.
  static constexpr int64_t kBlock = -1, kOne = -2;
  struct Entry {
    int64_t row, column, head;
  };
  template <class Row>
  [[gnu::noinline]] bool remember(const Space& space, const Row& x, int64_t row, int64_t head) {
    if (!entries_.reserve(1) || !values_.reserve((x.size() + 1) * Space::kWidth)) return false;
    for (int64_t i = 0; i < x.size(); ++i) save(space.at(x.index(i), head));
    save(space.at(-1, head));
    entries_.push({row, 0, head});
    return true;
  }
  void save(const T* p) {
    for (int i = 0; i < Space::kWidth; ++i) values_.push(p[i]);
  }
  void restore(T* p) {
    for (int i = Space::kWidth; i-- > 0;) p[i] = values_.pop();
  }
  bool on_;
  Buffer<Entry> entries_;
  Buffer<T> values_;
};

}  // namespace sureline::SURELINE_ISA
