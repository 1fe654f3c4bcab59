// A budget instead of a penalty: at most `max` nonzero weights, by raising the threshold lambda_t when there are more.
//
// The rule. lambda_t starts at 0. When an example leaves more than max nonzero weights, lambda_t rises until nine
// tenths of max are left. So it rises again only after max / 10 new weights at least.
//
// Sizes that were large early may become small. So lambda_t is chosen anew when fewer than three quarters of max are
// left and the stream has grown by a quarter since the last choice. It is then the smallest with at most max nonzero
// weights. theta never changes: a hidden weight still collects its gradients, and returns once it exceeds lambda_t.
//
// In between, a weight becomes nonzero only if a row touches it. A list of those weights is enough to choose from, and
// a row costs its nonzeros. Only a new choice goes over all coordinates. It is rarer the longer the stream is.
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
  double threshold = 0;  // lambda_t: a weight is nonzero if its coordinate's size exceeds it
  int64_t active = 0;    // number of nonzero weights
  double chosen = 0;     // the round of the last choice of the threshold

  bool has_become_wasteful(double t) const { return threshold > 0 && 4 * active < 3 * max && 4 * t >= 5 * chosen; }

  // Coordinates (slot * heads + head) that became nonzero. All nonzero ones are in it, some twice, with some that are 0
  // now.
  const std::vector<int64_t>& members() const { return members_; }
  void set_members(const std::vector<int64_t>& coordinates);
  int64_t beyond() const { return beyond_; }  // above all members; never negative
  int64_t n_members() const;
  int64_t member(int64_t i) const;
  void add(int64_t coordinate);
  bool crowded() const;  // too many outdated or duplicate entries

  // Removes entries that are zero, given the size of each, and raises the threshold if more than max are left.
  void settle(const double* sizes);

  // A new choice. offer() every coordinate whose size exceeds floor(), then finish(). The threshold becomes the
  // smallest that leaves at most `keep`, and at least `least`.
  void begin(double least);
  double floor() const { return floor_; }
  void offer(int64_t coordinate, double size);
  void finish(int64_t keep);

  int64_t fewer() const { return max - max / 10; }

  // Changes from here on can be rolled back or kept. The list is copied only if it is replaced.
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
