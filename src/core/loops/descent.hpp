// Coordinate rules: one round of Algorithm 2 of the framework (coordinate_rules.hpp).
#pragma once

#include "loops/loop.hpp"
#include "spaces/confident_full.hpp"
#include "spaces/coordinates.hpp"

namespace sureline::SURELINE_ISA {

// The sum of the gradients so far stays below this, so that their squares are finite.
template <class T>
inline constexpr double kLargestGradient = sizeof(T) == 4 ? 1e37 : 1e150;

// The Round for coordinates of type T: values compared with stored numbers are rounded like them.
template <class T>
inline Round rounded(Round round) {
  round.threshold = double(T(round.threshold));
  return round;
}

// The threshold that leaves at most as many weights as the budget allows, of all there are, but at least `least`.
template <class Space>
[[gnu::noinline]] void choose_anew(const Space& space, Budget& budget, double least) {
  budget.begin(least);
  if constexpr (Space::kLocal) {
    each_touched_slot(space, [&](int64_t slot) {
      for (int64_t head = 0; slot > 0 && head < space.n_heads; ++head) {
        const double size = Space::Kind::size(space.at(slot - 1, head));
        if (size > budget.floor()) budget.offer(slot * space.n_heads + head, size);
      }
    });
  } else {
    for (int64_t head = 0; head < space.n_heads; ++head) {
      space.solve(head);
      for (int64_t slot = 1; slot < space.n_slots; ++slot)
        if (std::fabs(space.u[slot]) > budget.floor())
          budget.offer(slot * space.n_heads + head, std::fabs(space.u[slot]));
    }
  }
  budget.finish(budget.max);
}

template <class Space, class Rows>
class Descent : public Stream<Descent<Space, Rows>, Space, Rows> {
  using Base = Stream<Descent<Space, Rows>, Space, Rows>;
  friend Base;
  using Base::journal_;
  using Base::refuse;
  using Base::space_;
  using Base::task_;
  using typename Base::Row;
  using typename Base::T;

 public:
  Descent(const Task& task, const Space& space, const Rows& rows, double* scores, Round* rounds)
      : Base(task, space, rows, scores), rounds_(rounds) {}

 private:
  const CoordinateRule& rule() const { return *task_.coordinate_rule; }
  View view() const { return {rounds_, this->n_problems()}; }

  bool begin(const Row& x, int64_t row, double s) {
    if (!rule().fixed || !have_rounds_) {
      for (int64_t problem = 0; problem < this->n_problems(); ++problem) {
        Memory& memory = task_.memory[problem];
        rounds_[problem] = rounded<T>(rule().round(memory.t, memory.cut));
        memory.cut += rounds_[problem].cut;
        if (!(memory.cut < kLargestWeight<T>)) return refuse(Refusal::step), false;
      }
      have_rounds_ = true;
    }
    if (task_.budget)
      for (int64_t problem = 0; problem < this->n_problems(); ++problem)
        rounds_[problem].threshold = task_.budget->threshold;
    if (task_.budget && !remember_which_are_nonzero(x)) return refuse(Refusal::memory), false;
    if constexpr (Space::kAbsorbs) {
      if (this->recorded_) record_before_absorbing(x, task_.labels[row]);
      for (int64_t head = 0; head < space_.n_heads; ++head) {
        if (!journal_.before_update(space_, x, row, head)) return refuse(Refusal::memory), false;
        if (!absorb(x, head, s)) return this->refuse_score(x), false;
      }
    }
    return true;
  }

  // Records the prediction of a row that the covariance has not absorbed yet.
  [[gnu::noinline]] void record_before_absorbing(const Row& x, int64_t label) {
    this->recorded_ = false;
    scores(x, this->scores_);
    for (int64_t head = 0; head < space_.n_heads; ++head)
      if (!finite(this->scores_[head])) return;  // the turn of the row refuses it
    if (this->policy() == Policy::binary)
      this->record_score(this->scores_[0], variance(x, 0), label);
    else
      this->record_scores(x, label);
  }
  double variance(const Row& x, int64_t head) const {
    if constexpr (Space::kAbsorbs)
      return space_.variance(x, head) * task_.memory[this->alone() ? head : 0].covariance_scale;
    return 0;
  }
  double variance(const Row& x, const MovedHead& moved) const { return variance(x, moved.head); }

  bool absorb(const Row& x, int64_t head, double s) {
    const Round& round = view().of(head);
    if constexpr (Space::kScoresOnTheWay)
      if (this->policy() == Policy::binary) return space_.absorb_and_score(x, round.r / s, round, score_);
    return space_.absorb(x, head, round.r / s);
  }

  double score(const Row& x, const MovedHead&) const {
    if constexpr (Space::kScoresOnTheWay) return score_;
    return space_.score(x, 0, rounds_[0]);
  }
  void scores(const Row& x, double* f) const { space_.scores(x, view(), f); }

  bool turn(int64_t row, const Row& x, Worth worth, int64_t problem, MovedHead* moved, int n_moved) {
    double m = 0;
    for (int i = 0; i < n_moved; ++i) m += moved[i].sign * moved[i].f;
    if (!finite(m)) return refuse(Refusal::score), false;
    const double steep = worth.s * worth.c * steepness(rule().loss, m);
    if (steep == 0) return false;
    const double largest = largest_size(x.values, x.n), largest_x = space_.intercept && largest < 1 ? 1.0 : largest;
    if (!(largest_x > 0)) return false;  // a row of zeros moves nothing
    Memory& memory = task_.memory[problem];
    const Round& round = rounds_[problem];
    if (!grows_safely(memory, round, steep * largest_x)) return refuse(Refusal::step), false;
    if constexpr (!Space::kAbsorbs)
      for (int i = 0; i < n_moved; ++i)
        if (!journal_.before_update(space_, x, row, moved[i].head)) return refuse(Refusal::memory), false;
    for (int i = 0; i < n_moved; ++i) space_.descend(x, moved[i].head, -moved[i].sign * steep, round);
    memory.k += 1;
    return true;
  }

  void end(const Row& x) {
    if (!task_.budget) return;
    if constexpr (Space::kSized) keep_within_budget(x);
  }

  // No number of a coordinate exceeds the sum of |eta z| (theta, and w of the truncated ones) or of |z| (sqrt(G)), with
  // two exceptions: an adaptive step of w is at most eta, and FTRL's weights move by at most alpha an update, so that
  // |theta| <= k (beta + alpha l2 + sqrt(G)) + l1. The running sum costs nothing; only if it becomes large are the
  // numbers looked at.
  bool grows_safely(Memory& memory, const Round& round, double largest_z) const {
    const double by = round.eta > 1 ? largest_z * round.eta : largest_z;
    if (!(by < kLargestGradient<T>)) return false;
    memory.bound += by;
    if (!(memory.bound < kLargestGradient<T>)) memory.bound = largest_number() + by;
    double reach = memory.bound;
    if (rule().shape == Shape::adaptive_truncated) reach = round.eta * memory.k;
    if (rule().shape == Shape::proximal) reach = memory.k * (round.delta + memory.bound) + round.threshold;
    return memory.bound < kLargestGradient<T> && reach < kLargestWeight<T>;
  }
  [[gnu::cold, gnu::noinline]] double largest_number() const {
    double size = 0;
    each_touched_slot(space_, [&](int64_t slot) {
      for (int64_t head = 0; head < space_.n_heads; ++head) {
        if constexpr (Space::kLocal)
          size = std::fmax(size, Space::Kind::largest(space_.at(slot - 1, head)));
        else
          size = std::fmax(size, std::fabs(double(*space_.at(slot - 1, head))));
      }
    });
    return size;
  }

  // -- the budget (budget.hpp) -------------------------------------------------------------------------------------

  int64_t coordinate_of(int64_t column, int64_t head) const { return (column + 1) * space_.n_heads + head; }

  [[gnu::noinline]] bool remember_which_are_nonzero(const Row& x) {
    if constexpr (Space::kSized && Space::kLocal) {
      were_nonzero_.clear();
      if (!were_nonzero_.reserve(x.size() * space_.n_heads)) return false;
      for (int64_t i = 0; i < x.size(); ++i)
        for (int64_t head = 0; head < space_.n_heads; ++head)
          were_nonzero_.push(Space::Kind::size(space_.at(x.index(i), head)) > task_.budget->threshold);
    }
    return true;
  }

  [[gnu::noinline]] void keep_within_budget(const Row& x) {
    Budget& budget = *task_.budget;
    if constexpr (Space::kLocal) {
      for (int64_t i = 0, k = 0; i < x.size(); ++i)
        for (int64_t head = 0; head < space_.n_heads; ++head, ++k) {
          const bool is = Space::Kind::size(space_.at(x.index(i), head)) > budget.threshold;
          budget.active += is - were_nonzero_[k];
          if (is && !were_nonzero_[k]) budget.add(coordinate_of(x.index(i), head));
        }
      if (budget.active > budget.max || budget.crowded()) {
        Buffer<double> sizes;
        if (!sizes.reserve(budget.n_members() + 1)) return refuse(Refusal::memory);
        for (int64_t i = 0; i < budget.n_members(); ++i)
          sizes.push(Space::Kind::size(space_.weights + budget.member(i) * Space::kWidth));
        budget.settle(sizes.data());
      }
    } else {
      choose_anew(space_, budget, budget.threshold);  // every weight may have changed
    }
    if (budget.has_become_wasteful(task_.memory->t)) {
      choose_anew(space_, budget, 0);
      budget.chosen = task_.memory->t;
    }
  }

  Round* rounds_;  // one per problem
  bool have_rounds_ = false;
  double score_ = 0;
  Buffer<unsigned char> were_nonzero_;
};

}  // namespace sureline::SURELINE_ISA
