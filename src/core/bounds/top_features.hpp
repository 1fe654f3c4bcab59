// A selection: at most `max` features of a head have a weight, and the intercept. All other weights are zero.
//
// Every feature has a key, and the larger its key the sooner it leaves: the variance of its weight where there are
// variances (SOFS), else minus the size of its weight (FOFS); a scale that all weights share makes no difference.
//
// The rule. An example has taken its step, as if there were no selection. Of its features (values that are not zero)
// now those that are not inside come in one after the other, in the order of their columns, each with the weight that
// the step gave it. When that makes one too many, the one with the largest key leaves and its weight becomes zero: of
// equal keys the one that has just come, otherwise the last column. So what is selected follows from the numbers and
// from what was selected before, and not from how anything lies in memory.
//
// There is a heap for each head, the next to leave on its top, and a table of who is in it. A row costs its nonzeros,
// each at most the logarithm of `max`. Nothing outside the row changes but the weights of those that leave.
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
  int64_t beyond() const { return beyond_; }    // all slots are below this, and above 0
  std::vector<int64_t> coordinates() const;     // slot * heads + head of every member, ascending
  void add(int64_t coordinate);                 // without a key; ignored if it is there, or is an intercept

  // Keys are a copy of what the numbers say. Where it is not known to be one, whoever has the numbers sets the key of
  // every member and calls arrange().
  bool has_keys() const { return has_keys_; }
  void forget_keys() { has_keys_ = false; }
  void set_key(int64_t head, int64_t i, double key);
  void arrange();

  // No member has a larger key, and no feature with a larger one would be let in; infinite while there is room.
  double bound(int64_t head) const;
  // Room for n more features of a head, or of two; false if there is no memory. Then choose() cannot fail.
  bool reserve(int64_t head, int64_t n);
  // The rule, for the n features of a row in the order of their slots. Writes the slots that are to have no weight, of
  // which there are n at most, and returns how many there are.
  int64_t choose(int64_t head, const Offer* row, int64_t n, int64_t* leaving);

  // From here on everything can be taken back, if the numbers are too and `remember` is set, or kept.
  void checkpoint(bool remember);
  void roll_back();
  void commit();

 private:
  struct Heap;
  struct Change {
    int64_t head, came, left;  // the slots; 0 for none, which is nobody's
  };

  std::vector<Heap> heaps_;
  int64_t beyond_ = 0;
  bool has_keys_ = true;
  bool remembers_ = false, keys_have_changed_ = false;  // since the checkpoint
  std::vector<Change> changes_;
};

}  // namespace sureline
