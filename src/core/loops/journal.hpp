// The changes of a batch, so that a refused row can undo the whole batch. Its cost follows the batch, not the width
// of the model, which is why small batches of a wide model use it rather than a copy.
#pragma once

#include "memory/buffer.hpp"
#include "memory/touched.hpp"
#include "rows/row.hpp"

namespace sureline::SURELINE_ISA {

// The numbers of a space, without their meaning: `width` of them belong to a weight.
template <class T_, int width>
struct Numbers {
  using T = T_;
  static constexpr int kWidth = width;
  T* weights;
  int64_t n_slots, n_heads;
  template <class Space>
  explicit Numbers(const Space& space) : weights(space.weights), n_slots(space.n_slots), n_heads(space.n_heads) {}
  T* at(int64_t column, int64_t head) const { return weights + width * ((column + 1) * n_heads + head); }
};

template <class T, int width>
class Journal {
 public:
  using Space = Numbers<T, width>;  // other types are treated as this one
  explicit Journal(bool on) : on_(on) {}

  // Each returns false if memory is short.
  template <class Row, class AnySpace>
  bool before_update(const AnySpace& space, const Row& x, int64_t row, int64_t head) {
    return !on_ || remember(Space(space), x, row, head);
  }
  // Room for n single weights, and then each of them.
  bool reserve(int64_t n) { return !on_ || (entries_.reserve(n) && values_.reserve(n * width)); }
  template <class AnySpace>
  void before_changing(const AnySpace& space, int64_t column, int64_t head) {
    if (!on_) return;
    save(space.at(column, head));
    entries_.push({kOne, column, head});
  }
  // Zeros get an entry when they are written later.
  template <class AnySpace>
  bool before_rewriting_all(const AnySpace& space) {
    return !on_ || remember_all(Space(space));
  }
  template <class AnySpace, class Rows>
  void undo(const AnySpace& space, const Rows& rows) {
    undo_in(Space(space), rows);
  }

 private:
  // In place of a row. A block has the slots from `column` to `head`.
  static constexpr int64_t kBlock = -1, kOne = -2;
  struct Entry {
    int64_t row, column, head;
  };
  [[gnu::cold, gnu::noinline]] bool remember_all(const Space& space) {
    const int64_t numbers = space.n_heads * width;
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
  [[gnu::cold, gnu::noinline]] void undo_in(const Space& space, const Rows& rows) {
    while (entries_.size() > 0) {
      const Entry entry = entries_.pop();
      if (entry.row == kOne) {
        restore(space.at(entry.column, entry.head));
        continue;
      }
      if (entry.row == kBlock) {
        const int64_t numbers = space.n_heads * width;
        for (int64_t i = entry.head * numbers; i-- > entry.column * numbers;) space.weights[i] = values_.pop();
        continue;
      }
      const auto x = rows[entry.row];
      restore(space.at(-1, entry.head));
      for (int64_t i = x.size(); i-- > 0;) restore(space.at(x.index(i), entry.head));
    }
  }
  template <class Row>
  [[gnu::noinline]] bool remember(const Space& space, const Row& x, int64_t row, int64_t head) {
    if (!entries_.reserve(1) || !values_.reserve((x.size() + 1) * width)) return false;
    for (int64_t i = 0; i < x.size(); ++i) save(space.at(x.index(i), head));
    save(space.at(-1, head));
    entries_.push({row, 0, head});
    return true;
  }
  void save(const T* p) {
    for (int i = 0; i < width; ++i) values_.push(p[i]);
  }
  void restore(T* p) {
    for (int i = width; i-- > 0;) p[i] = values_.pop();
  }
  bool on_;
  Buffer<Entry> entries_;
  Buffer<T> values_;
};

}  // namespace sureline::SURELINE_ISA
