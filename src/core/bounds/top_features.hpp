// A selection: at most `max` features of a head have a weight, and the intercept. All other weights are zero.
//
// Every feature has a key; the largest key leaves first. The key is the variance of the weight (SOFS), or without
// variances minus the size of the weight (FOFS). A scale that all weights share makes no difference.
//
// The rule. An example takes its step as if there were no selection. Then its features that are not yet selected enter
// one after the other, in the order of their columns, each with the weight that the step gave it. When there is one too
// many, the feature with the largest key leaves, and its weight becomes zero. Of equal keys the newcomer leaves, else
// the last column. So the selection depends on the numbers and on the selection before, never on the layout in memory.
//
// Each head has a heap, with the next feature to leave on top, and a table of its members. A row costs its nonzeros,
// each at most the logarithm of `max`. Outside the row, only weights of features that leave change.
//
// The functions here are compiled once, for every machine; the loops call them once a row that has taken a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sureline {

class Selection {
 public:
  struct Offer {  // a feature of a row, after the step
    int64_t slot;
    double key;
  };

  Selection(int64_t at_most, int64_t n_heads);
  Selection(const Selection&);
  Selection(Selection&&) noexcept;
  ~Selection();

  int64_t max;

  int64_t n_heads() const;
  int64_t n_members() const;  // of all heads
  int64_t n_members(int64_t head) const;
  int64_t slot(int64_t head, int64_t i) const;  // of the i-th member, in no order
  int64_t beyond() const { return beyond_; }    // above every slot; slots are above 0
  std::vector<int64_t> coordinates() const;     // slot * heads + head of every member, ascending
  void add(int64_t coordinate);                 // no key needed; ignores members and intercepts

  // Keys are a copy of the numbers. If the copy may be out of date, the caller sets the key of every member and calls
  // arrange().
  bool has_keys() const { return has_keys_; }
  void forget_keys() { has_keys_ = false; }
  void set_key(int64_t head, int64_t i, double key);
  void arrange();

  // The largest key of a member. Features with larger keys cannot enter. Infinite while there is room.
  double bound(int64_t head) const;
  // Room for n more features of one or two heads, so that choose() cannot fail. False if memory is short.
  bool reserve(int64_t head, int64_t n);
  // The rule, for the n features of a row in the order of their slots. Writes the slots that lose their weight, at most
  // n, and returns their number.
  int64_t choose(int64_t head, const Offer* row, int64_t n, int64_t* leaving);

  // From here on all changes can be kept, or rolled back together with the numbers if `remember` is set.
  void checkpoint(bool remember);
  void roll_back();
  void commit();

 private:
  struct Heap;
  struct Change {
    int64_t head, came, left;  // slots; 0 for none
  };

  std::vector<Heap> heaps_;
  int64_t beyond_ = 0;
  bool has_keys_ = true;
  bool remembers_ = false, keys_have_changed_ = false;  // since the checkpoint
  std::vector<Change> changes_;
};

}  // namespace sureline
