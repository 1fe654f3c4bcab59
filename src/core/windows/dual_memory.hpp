// The memory of online dual coordinate ascent besides its weights: scalars, the examples of a sliding window, and the
// weights that are next to fall under a threshold. The functions here are compiled once, for every machine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rules/dual_rule.hpp"

namespace sureline {

// The last `length` examples, oldest first. Each has its contribution to the weights: coefficient times row, for one or
// more heads. Rows that added nothing take no room. Memory follows the nonzeros of the stored examples.
class RowWindow {
 public:
  explicit RowWindow(int64_t length_ = 0) : length(length_) {}
  int64_t length;  // 0 without a window

  struct Part {  // part of an example: coefficient times its row, in one head
    int64_t head;
    double coefficient;
  };
  struct Example {
    const Part* parts;
    int64_t n_parts;
    const int64_t* columns;
    const double* values;
    int64_t n;
  };

  int64_t size() const { return int64_t(entries_.size()) - gone_; }
  bool full() const { return length > 0 && size() == length; }
  Example example(int64_t i) const;
  void add_part(int64_t head, double coefficient) {
    parts_.push_back({head, coefficient});
    if (head >= heads_beyond_) heads_beyond_ = head + 1;
  }
  // The columns and values of a row's entries that are not zero.
  template <class Row>
  void add_row(const Row& x) {
    const size_t n = columns_.size();
    columns_.resize(n + size_t(x.size())), values_.resize(n + size_t(x.size()));
    int64_t* column = columns_.data() + n;
    double* value = values_.data() + n;
    for (int64_t i = 0; i < x.size(); ++i)
      if (x.value(i) != 0) {
        *column++ = x.index(i), *value++ = double(x.value(i));
        if (x.index(i) >= columns_beyond_) columns_beyond_ = x.index(i) + 1;
      }
    columns_.resize(size_t(column - columns_.data())), values_.resize(columns_.size());
  }
  void end_example();  // makes an example of the parts and numbers added since the last one
  void drop_oldest();

  // Moves the parts of head 0 to these heads, each with its coefficient times the factor.
  void split(const std::vector<Part>& heads);
  int64_t columns_beyond() const { return columns_beyond_; }  // above every column ever stored
  int64_t heads_beyond() const { return heads_beyond_; }

  void checkpoint(bool can_roll_back);
  void roll_back();
  void commit();

 private:
  struct Entry {  // where the parts and numbers of an example end
    int64_t parts, numbers;
  };
  void forget_gone();
  std::vector<Entry> entries_;
  std::vector<Part> parts_;
  std::vector<int64_t> columns_;
  std::vector<double> values_;
  int64_t gone_ = 0;                        // number of entries_ at the front that have left the window
  int64_t gone_before_ = 0, n_before_ = 0;  // at the checkpoint
  bool keeps_gone_ = false;
  int64_t columns_beyond_ = 0, heads_beyond_ = 0;
};

// For each problem a heap of the weights above the threshold, by a lower bound of |theta|, the least on top. Entries
// that have grown since, or are below by now, stay until they are taken. The caller checks them then.
class Crossings {
 public:
  struct Entry {
    double size;
    int64_t coordinate;  // slot * heads + head
  };
  bool fits(int64_t n_heads) const { return n_heads_ == n_heads; }
  void forget() { n_heads_ = 0; }  // to be filled again from the weights
  void begin(int64_t n_problems, int64_t n_heads);
  void add(int64_t problem, Entry entry);
  // Removes and returns the coordinates whose size is at most this, each once.
  const std::vector<int64_t>& take(int64_t problem, double threshold);
  // True if most entries are out of date, so that it should be filled again.
  bool crowded(int64_t problem, int64_t n_weights) const {
    return int64_t(heaps_[size_t(problem)].size()) > 4 * n_found_ + n_weights / 4 + 1024;
  }
  void end();  // all have been found

 private:
  int64_t n_heads_ = 0, n_found_ = 0;  // 0: empty
  std::vector<std::vector<Entry>> heaps_;
  std::vector<int64_t> taken_;
};

// The slots with a nonzero number, and some more, during one call of the learning loop. For very wide weights it is
// faster to remember them than to search again and again.
class KnownSlots {
 public:
  bool known() const { return known_; }
  void begin(int64_t most);  // then add all; if there are more than `most`, they are not remembered
  void add(int64_t slot);
  void end();
  const std::vector<int64_t>& all();  // ascending
  void forget() { *this = KnownSlots(); }

 private:
  std::vector<int64_t> slots_;  // the first of them ascend
  int64_t n_ascending_ = 0, most_ = 0;
  bool known_ = false, too_many_ = false;
};

class DualMemory {
 public:
  DualMemory(int64_t n_problems, int64_t length) : problems(size_t(n_problems)), window(length) {}
  std::vector<Ascent> problems;
  RowWindow window;
  Crossings crossings;
  KnownSlots known_slots;

  // From here on all changes can be rolled back, or kept.
  void checkpoint(bool can_roll_back);
  void roll_back();
  void commit();

 private:
  std::vector<Ascent> before_;
};

}  // namespace sureline
