// A budget instead of a penalty: at most `max` nonzero weights, by raising the threshold lambda_t when there are more.
//
// The rule. lambda_t starts at 0. When an example leaves more than max weights nonzero, it rises until nine tenths of
// max are left, so that the next time is at least max / 10 new weights away. Sizes that were large early may become
// small: when fewer than three quarters of max are left, and the stream is longer by a quarter than when that was last
// done, lambda_t is chosen anew as the smallest with at most max nonzero weights. theta is not touched by any of this;
// a weight that is hidden goes on collecting its gradients and comes back once it exceeds lambda_t.
//
// In between, a weight can become nonzero only if a row touches it, so a list of those that did is enough to choose
// from, and a row costs no more than its nonzeros. Only choosing anew goes over all coordinates, and the longer the
// stream, the more rarely.
//
// The functions here are compiled once, for every machine; the loops call them rarely.
#pragma once

#include <cstdint>
#include <vector>

namespace sureline {

class Budget {
 public:
  explicit Budget(int64_t at_most) : max(at_most) {}

  int64_t max;
  double threshold = 0;  // lambda_t: a weight is nonzero if its coordinate's size is above
  int64_t active = 0;    // how many are
  double chosen = 0;     // the round in which the threshold was last chosen anew

  bool has_become_wasteful(double t) const { return threshold > 0 && 4 * active < 3 * max && 4 * t >= 5 * chosen; }

  // Coordinates (slot * heads + head) that have become nonzero: all that are, some twice, some no more.
  const std::vector<int64_t>& members() const { return members_; }
  void set_members(const std::vector<int64_t>& coordinates);
  int64_t beyond() const { return beyond_; }  // all members are below this, and none is negative
  int64_t n_members() const;
  int64_t member(int64_t i) const;
  void add(int64_t coordinate);
  bool crowded() const;  // too many entries that are no longer true, or twice there

  // Forget the entries that are not nonzero, given the size of each, and raise the threshold if more than max are.
  void settle(const double* sizes);

  // Choose anew. offer() every coordinate whose size exceeds floor(), then finish(): the threshold becomes the
  // smallest, but at least `least`, that leaves at most `keep`.
  void begin(double least);
  double floor() const { return floor_; }
  void offer(int64_t coordinate, double size);
  void finish(int64_t keep);

  int64_t fewer() const { return max - max / 10; }

  // From here on everything can be taken back, or kept. The list is copied only if it is replaced.
  void checkpoint();
  void roll_back();
  void commit();

 private:
  struct Sized {
    int64_t coordinate;
    double size;
  };
  void shrink(int64_t keep);
  struct Before {
    double threshold, chosen;
    int64_t active, beyond, n_members;
    bool replaced;
    std::vector<int64_t> members;
  };
  double floor_ = 0;
  int64_t beyond_ = 0;
  std::vector<int64_t> members_;
  Before before_{};
  std::vector<Sized> sized_;  // only while choosing
};

}  // namespace sureline
