// Rises of a mean along a stream, beyond chance: of mistakes, or of anything from 0 to 1 (docs/guide/drift.md).
//
// Rows are taken in blocks of kBlock. The latest 2^l blocks are compared with all blocks before them since `start`, for
// each l at every quarter of that length. If rows are exchangeable, the latest n of mean q among all of mean p are a
// sample without replacement, and by Hoeffding (1963) q is as large with a probability of at most exp(-n KL(q || p));
// the rows before are as small with one of at most exp(-m KL(r || p)). An alarm needs kEvidence, in the exponent. There
// are 4 comparisons in a block, 125,000 in a million rows: fewer than 0.5 false alarms are expected among them. Where
// the mean falls, as that of a learner does at first, alarms are rarer still.
//
// Mistakes of a learner are no independent draws: the weights waver. So the exponent is divided by how much more sums
// of neighbouring blocks differ than those of independent draws would, at the scale where that is largest. A fall by as
// much evidence moves `start`, so that what follows is compared with the better rows alone.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace sureline {

struct Rise {
  int64_t first, last;   // rows, without `last`, in which the mean is larger
  double before, after;  // the means
};

class Rises {
 public:
  static constexpr int64_t kBlock = 32;
  static constexpr int kLevels = 40, kKept = 5;
  static constexpr double kEvidence = 12.5;  // log(4 * 10^6 / kBlock / 0.5), rounded up
  static constexpr double kEnoughPairs = 32, kLargestRatio = 16;

  struct State {
    double fixed = -1;            // the reference mean; if negative, the rows before are the reference
    int64_t rows = 0, start = 0;  // start in blocks
    double sum = 0, at_start = 0;
    std::array<std::array<double, kKept>, kLevels> sums{};  // of all rows, at the latest quarters
    std::array<double, kLevels> differences{}, expected{}, pairs{};
  };

  explicit Rises(double fixed) { state_.fixed = fixed; }
  explicit Rises(const State& state) : state_(state) {}
  const State& state() const { return state_; }

  template <class T>
  void add(const T* values, int64_t n, std::vector<Rise>& found) {
    for (int64_t i = 0; i < n; ++i) {
      state_.sum += double(values[i]);
      if (++state_.rows % kBlock == 0) end_block(found);
    }
  }

  // The variance of neighbouring blocks relative to that expected by chance.
  double wavering() const {
    double most = 1;
    for (int l = 0; l < kLevels; ++l)
      if (state_.pairs[size_t(l)] >= kEnoughPairs && state_.expected[size_t(l)] > 0)
        most = std::max(most, state_.differences[size_t(l)] / state_.expected[size_t(l)]);
    return most;
  }

 private:
  static int64_t quarter(int l) { return l < 2 ? 1 : int64_t(1) << (l - 2); }
  static int64_t quarters(int l) { return l < 2 ? int64_t(1) << l : 4; }  // of a window
  // The sum, this many quarters of level l ago.
  double& sum_at(int l, int64_t block) { return state_.sums[size_t(l)][size_t(block / quarter(l) % kKept)]; }

  // n KL(q || p) in natural units.
  static double evidence(double n, double q, double p) {
    if (n * (q - p) * (q - p) <= kEvidence * p * (1 - p)) return 0;  // the difference is within chance
    const auto part = [](double a, double b) { return a > 0 ? (b > 0 ? a * std::log(a / b) : INFINITY) : 0.0; };
    return n * std::max(0.0, part(q, p) + part(1 - q, 1 - p));
  }

  void end_block(std::vector<Rise>& found) {
    const int64_t now = state_.rows / kBlock;
    int levels = 0;
    while (levels < kLevels && now % quarter(levels) == 0) sum_at(levels++, now) = state_.sum;
    for (int l = 0; l < levels; ++l) look_at_pair(l, now);
    Rise best{};
    double most = 0;
    int64_t begin = 0;
    for (int l = 0; l < levels; ++l) {
      const int64_t length = int64_t(1) << l, before = now - length - state_.start;
      if (before < (state_.fixed < 0 ? 1 : 0)) break;
      const double at = sum_before(l, now), n = double(length * kBlock), m = double(before * kBlock);
      const double q = (state_.sum - at) / n;
      if (state_.fixed >= 0) {
        if (q <= state_.fixed) continue;
        consider(evidence(n, q, state_.fixed), {(now - length) * kBlock, state_.rows, state_.fixed, q}, now - length,
                 most, best, begin);
        continue;
      }
      const double r = (at - state_.at_start) / m, p = (state_.sum - state_.at_start) / (n + m);
      const double e = std::max(evidence(n, q, p), evidence(m, r, p));
      if (q < r) {
        if (e > kEvidence && e / wavering() > kEvidence) {
          state_.start = now - length, state_.at_start = at;
          break;
        }
      } else {
        consider(e, {(now - length) * kBlock, state_.rows, r, q}, now - length, most, best, begin);
      }
    }
    if (most <= kEvidence || most / wavering() <= kEvidence) return;
    found.push_back(best);
    if (state_.fixed >= 0) {  // the rows to come are judged on their own
      state_.start = now, state_.at_start = state_.sum;
    } else {
      state_.start = begin;
      state_.at_start = state_.sum - best.after * double(best.last - best.first);
    }
  }

  static void consider(double e, const Rise& rise, int64_t begin, double& most, Rise& best, int64_t& best_begin) {
    if (e > most) most = e, best = rise, best_begin = begin;
  }

  double sum_before(int l, int64_t now) {
    const int64_t then = now - (int64_t(1) << l);
    return then == 0 ? 0.0 : state_.sums[size_t(l)][size_t((now / quarter(l) - quarters(l)) % kKept)];
  }

  // The two latest windows of 2^(l - 1) blocks, if they have just come to an end.
  void look_at_pair(int l, int64_t now) {
    if (l < 1 || now % (int64_t(1) << l) != 0) return;
    const int64_t half = int64_t(1) << (l - 1);
    const double n = double(half * kBlock), at = sum_before(l, now);
    const double middle = sum_before(l - 1, now);
    const double a = state_.sum - middle, b = middle - at, p = (a + b) / (2 * n), v = 2 * n * p * (1 - p);
    if (!(v > 0)) return;
    const size_t k = size_t(l - 1);
    // A single change of the data is not wavering.
    const double usual =
        state_.pairs[k] >= kEnoughPairs ? std::max(1.0, state_.differences[k] / state_.expected[k]) : 1;
    state_.differences[k] += std::min((a - b) * (a - b), kLargestRatio * usual * v);
    state_.expected[k] += v;
    state_.pairs[k] += 1;
  }

  State state_;
};

}  // namespace sureline
