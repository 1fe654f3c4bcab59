// Chooses the labels of a stream to ask for, at most a share of them at any time (docs/guide/label-budget.md).
//
// Each row has an uncertainty u, small where the learner is not sure: |score| / std. It is compared with those of the
// latest kWindow rows. A row whose rank among them is in the lowest share is asked for, and any other with a small
// probability rho. The share is such that the budget is spent: a little more when labels were saved, less when few are
// left. Ranks do not depend on the scale of the scores, which changes as the learner learns. A label that is asked with
// the probability p stands for 1 / p rows like it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace sureline {

class Asker {
 public:
  static constexpr int64_t kWindow = 256;
  static constexpr double kSaved = 2;     // labels, kept for rows that are least sure of all
  static constexpr double kHorizon = 64;  // rows over which savings beyond that are spent

  struct State {
    double rate = 1, random = 0;
    uint64_t seed = 0;
    int64_t rows = 0, asked = 0;
    double total = 0, wrong = 0;  // rows for which the labels stand, and wrongly predicted ones among them
    std::array<double, kWindow> latest{};
  };

  // `random` is the part of the budget that is spent at random.
  Asker(double rate, uint64_t seed, double random) {
    state_.rate = rate, state_.random = random;
    state_.seed = seed;
  }
  explicit Asker(const State& state) : state_(state) {}
  const State& state() const { return state_; }

  // The next row. Returns the probability with which its label is asked for; 0 if it is not.
  double next(double u) {
    const int64_t t = state_.rows++, n = std::min(t, kWindow);
    int64_t below = 0, equal = 0;
    for (int64_t i = 0; i < n; ++i) {
      below += state_.latest[size_t(i)] < u;
      equal += state_.latest[size_t(i)] == u;
    }
    state_.latest[size_t(t % kWindow)] = u;
    const double allowed = state_.rate * double(state_.rows) - double(state_.asked);
    if (allowed < 1) return 0;
    if (state_.rate >= 1) return ++state_.asked, 1;
    const double rho = state_.random * state_.rate;
    const double share = (state_.rate - rho) / (1 - rho) + (allowed - 1 - kSaved) / kHorizon;
    // Among equals the rank is a matter of chance.
    const double q = std::clamp((share * double(n + 1) - double(below)) / double(equal + 1), 0.0, 1.0);
    const double p = q + (1 - q) * rho;
    if (uniform(t) >= p) return 0;
    ++state_.asked;
    return p;
  }

  // An asked label came, which stands for that many rows; `wrong` if the prediction was a mistake.
  void told(bool wrong, double rows) {
    state_.total += rows;
    state_.wrong += wrong ? rows : 0;
  }

 private:
  // Uniform in [0, 1), from the seed and the row alone: SplitMix64.
  double uniform(int64_t t) const {
    uint64_t z = (state_.seed + 1) * 0x9e3779b97f4a7c15u + uint64_t(t) * 0xd1342543de82ef95u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

  State state_;
};

}  // namespace sureline
