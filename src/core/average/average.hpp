// The average of the weights along a stream, at the cost of a row's nonzeros.
//
// With w_n the weights after round n, those that the next row is predicted with, the average after round t is
//
//     w-bar_t = sum over n <= t of g_n w_n / sum of g_n,      g_n = 2^(n / half-life), or 1 without a half-life.
//
// No round goes over all weights. Until the numbers of a coordinate change again, its weight is a function of what all
// coordinates share: scale_n times what exceeds threshold_n. So over the rounds of a past its part of the sum is
//
//     slope (level sum of g_n scale_n - sum of g_n scale_n threshold_n),      over the rounds with threshold_n < level,
//
// and the two sums belong to all coordinates of a problem (Run). Thresholds rise all the time or fall all the time, so
// these rounds are the first or the last ones, and a search finds the end. A coordinate stores one number: what the sum
// of g_n w_n has beyond what its present numbers would have given in all rounds of the past. It changes only when they
// do. Once there are as many runs as is worth a pass over the coordinates, all of them take theirs in, and the past
// begins anew.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "loops/kernels.hpp"

namespace sureline {

class Average {
 public:
  // Rounds that follow each other and have the same threshold. The sums are over all rounds up to the last of them.
  struct Run {
    double threshold, reach, cut;  // sums of g scale and of g scale threshold
  };
  struct Past {                                                         // of a problem
    double delta = 0, limit = std::numeric_limits<double>::infinity();  // of its Rounds
    std::vector<Run> runs;
  };

  Average(int64_t n_problems, int64_t n_heads, double half_life_);

  double half_life;    // infinite: all rounds count the same
  double growth = 1;   // g of the next round
  double total = 0;    // sum of g
  double written = 0;  // coordinates with a written number
  std::vector<double>
      born;  // for each head the total when it came: a class is averaged over the rounds that it has seen
  std::vector<Past> pasts;

  double over(int64_t head) const { return total - born[size_t(head)]; }

  // Turns one head into two, of two problems (alone) or of one.
  void split(bool alone);
  // Adds fresh heads and problems.
  void add(int64_t n_heads, int64_t n_problems);

  // From here on all changes can be rolled back, or kept.
  void checkpoint(bool can_roll_back);
  void roll_back(double* sums);
  void commit();

 private:
  friend class Averaging;
  struct Saved {
    double growth, total, written;
    std::vector<double> born;
    std::vector<std::pair<size_t, Run>> ends;  // number of runs so far, and the last one, which may grow
    // The pasts of problems that began again, as they were before the first time.
    std::vector<std::pair<size_t, Past>> gone;
  };
  void save(size_t problem);  // called before a past begins again
  double factor_;
  bool can_roll_back_ = false;
  Saved saved_;
  std::vector<std::pair<int64_t, double>> changes_;
};

// An average during one pass over rows, or one scoring call. Each function returns false if memory is short.
class Averaging {
 public:
  Averaging(const Model& model, bool single, const Kernels* kernels = nullptr);
  ~Averaging();
  Averaging(const Averaging&) = delete;

  // Room for a row, written there by the caller: columns, and values in double.
  bool reserve(int64_t n);
  int64_t* columns();
  double* values();

  // The scores of a row's heads by the average. With `learning` the contributions of its numbers are remembered.
  bool predict(double* f, bool learning);
  // The numbers of the row may have changed.
  bool absorb();
  // All numbers of the problem are going to change, or its past has become long.
  bool settle(int64_t problem);
  // The end of a round.
  bool finish(const Task& task);

  // The averages from slot `first` on that are not zero, as Kernels::nonzero gives weights.
  int64_t nonzero(int64_t first, const NonzeroRoom& room) const;

 private:
  template <class F>
  void each_head(const F& f) const;
  bool append(int64_t problem, double threshold, double scale, double delta, double limit);
  bool add_weights(const Task& task);
  void fold();
  void write(int64_t place, double value);

  const Model& model_;
  Average& average_;
  const bool single_, all_slots_;
  const Kernels* const kernels_;
  int64_t n_ = 0;
  std::vector<int64_t> columns_;
  std::vector<double> values_, before_;
};

}  // namespace sureline
