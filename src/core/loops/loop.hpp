// The loop: predict, count, update. One loop for all learners, rows and numbers of classes.
#pragma once

#include <cmath>

#include "average/average.hpp"
#include "confidence/record.hpp"
#include "loops/journal.hpp"
#include "loops/kernels.hpp"
#include "scaling/divided_rows.hpp"
#include "spaces/diagonal.hpp"

namespace sureline::SURELINE_ISA {

template <class T>
inline constexpr double kLargestWeight = sizeof(T) == 4 ? 1e37 : 1e300;

inline bool finite(double a) { return std::isfinite(a); }

// A head that an example moves, with the sign of the move and the head's own score and variance. Two heads form one
// problem over the pair of their weights, whose example is x for the one and -x for the other: the margin is
// the difference of their scores, the variance the sum of their variances.
struct MovedHead {
  int64_t head;
  double sign;
  double f = 0;
  double v = 0;
};

// An example without its row: its weight, and the c of its label.
struct Worth {
  double s, c;
};

template <class Row>
[[gnu::noinline]] bool copy_row(const Row& x, Averaging& averaging) {
  if (!averaging.reserve(x.size())) return false;
  int64_t* columns = averaging.columns();
  double* values = averaging.values();
  for (int64_t i = 0; i < x.size(); ++i) columns[i] = x.index(i), values[i] = double(x.value(i));
  return true;
}

// Self is the learner. It has
//   bool begin(x, row, s)                                  before the scores; false if it refused
//   double score(x, MovedHead&), void scores(x, double*)   of one head, of all
//   bool turn(row, x, worth, problem, MovedHead*, n)       one binary problem's turn; true if anything moved
//   void end(x)                                            after all turns
//   double variance(x, head), variance(x, MovedHead)       of a score, for the record; 0 if it has none
// and if it is one for targets rather than classes
//   bool regress(row, x, s)                                the turn of the only head
template <class Self, class Space, class Rows>
class Stream {
 public:
  using T = typename Space::T;
  using Row = typename Rows::Row;

  Stream(const Task& task, const Space& space, const Rows& rows, double* scores)
      : task_(task), space_(space), rows_(rows), divided_(task, rows), scores_(scores), journal_(task.journal) {}

  Outcome run() {
    const int64_t bytes = space_.n_slots * space_.n_heads * int64_t(Space::kWidth * sizeof(T));
    // Worth it only where the weights do not stay in the nearer caches.
    const bool ahead = !Row::dense && bytes > (1 << 20), huge = !Row::dense && bytes > kHuge;
    const int64_t n = task_.order ? task_.n_order : task_.rows.n_rows;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t row = row_at(k);
      const auto stored = rows_[row];
      Row x = stored.unchecked();
      if (ahead && k + kRowsAhead < n) fetch(rows_[row_at(k + kRowsAhead)]);
      const double s = task_.sample_weight ? task_.sample_weight[row] : 1.0;
      if (task_.scaling)
        outcome_ = divided_.next(k, s, x);
      else
        outcome_.refusal = own_.admit(x, stored, task_.rows, /*often=*/true);
      if (outcome_.refusal == Refusal::none) {
        if (s == 0) continue;
        if (huge)
          for (int64_t i = 0; i < x.size(); ++i) make_page(space_.at(x.index(i), 0));
        take(row, x, s);
      }
      if (outcome_.refusal != Refusal::none) {
        if (outcome_.row < 0) outcome_.row = row;
        journal_.undo(space_, rows_);
        break;
      }
    }
    return outcome_;
  }

 protected:
  static constexpr bool regresses() {
    return requires(Self& self, Row x) { self.regress(0, x, 0.0); };
  }
  // A single head has one policy, except for targets.
  Policy policy() const {
    if constexpr (Space::kOneHead && !regresses()) return Policy::binary;
    return task_.policy;
  }
  static constexpr bool kMayHaveOneHead = SURELINE_ISA::kMayHaveOneHead<Space>;
  // The loss of a prediction is by the target as it was when the prediction was made, and in the unit of then.
  double told(int64_t row) const { return task_.told ? task_.told[row] : task_.targets[row]; }
  double unit(int64_t row) const { return task_.units ? task_.units[row] : 1.0; }
  bool alone() const { return !Space::kOneHead && task_.policy == Policy::one_vs_rest; }
  int64_t n_problems() const { return alone() ? space_.n_heads : 1; }
  Self& self() { return static_cast<Self&>(*this); }
  void refuse(Refusal why) { outcome_.refusal = why; }
  [[gnu::cold, gnu::noinline]] void refuse_score(const Row& x) {
    refuse(finite(largest_size(x.values, x.n)) ? Refusal::score : Refusal::contents);
  }

  const Task& task_;
  const Space space_;
  const Rows rows_;
  DividedRows<Rows> divided_;
  OwnRow<Row> own_;
  double* scores_;  // one per head
  Journal<T, Space::kWidth> journal_;
  Outcome outcome_;
  bool recorded_ = false;  // true if the current row is recorded
  double own_weight_ = 1;  // of the current row, without the class weight

  // Not inlined where it is one of several calls, so that the hot one is inlined.
  [[gnu::noinline]] bool turn_apart(int64_t row, const Row& x, Worth worth, int64_t problem, MovedHead* moved, int n) {
    return self().turn(row, x, worth, problem, moved, n);
  }

  // Put the prediction of a row on record: by the scores of its heads.
  void record_scores(const Row& x, int64_t label) {
    int64_t best = 0;
    for (int64_t head = 1; head < space_.n_heads; ++head)
      if (scores_[head] > scores_[best]) best = head;
    int64_t next = best == 0 ? 1 : 0;
    for (int64_t head = next + 1; head < space_.n_heads; ++head)
      if (head != best && scores_[head] > scores_[next]) next = head;
    const double v = self().variance(x, best) + self().variance(x, next);
    if (finite(v)) task_.recorder->add(scores_, space_.n_heads, best, next, v, label, own_weight_);
  }
  void record_score(double f, double v, int64_t label) {
    if (finite(v)) task_.recorder->add(f, v, label == 1, own_weight_);
  }

 private:
  static constexpr int64_t kRowsAhead = 3;

  int64_t row_at(int64_t k) const { return task_.order ? task_.order[k] : k; }

  void take(int64_t row, const Row& x, double s) {
    const int64_t label = task_.labels[row];
    Tally& tally = task_.tally[label];
    const int64_t before = tally.mistakes;
    ++tally.seen;
    for (int64_t problem = 0; problem < n_problems(); ++problem) task_.memory[problem].t += 1;
    recorded_ = task_.recorder && task_.recorder->next();
    own_weight_ = s;
    if (task_.averaging && !predict_by_average(x, label)) return;
    const int64_t mistakes = tally.mistakes;
    if (task_.class_weight)
      s *= task_.class_weight[label];
    else if (task_.shares)
      s *= share(label);
    if (!self().begin(x, row, s)) return;
    bool moved = false;
    switch (policy()) {
      case Policy::binary:
        if constexpr (kMayHaveOneHead) moved = binary(row, x, label, s);
        break;
      case Policy::rival:
        if constexpr (!Space::kOneHead) moved = rival(row, x, label, s);
        break;
      case Policy::one_vs_rest:
        if constexpr (!Space::kOneHead) moved = one_vs_rest(row, x, label, s);
        break;
      case Policy::regression:
        if constexpr (kMayHaveOneHead && regresses()) moved = self().regress(row, x, s);
        break;
    }
    if (outcome_.refusal != Refusal::none) return;
    self().end(x);
    tally.updates += moved;
    if (task_.averaging) {
      tally.mistakes = mistakes;  // those of the average's predictions
      if (((moved || absorbs()) && !task_.averaging->absorb()) || !task_.averaging->finish(task_))
        refuse(Refusal::memory);
    }
    if (task_.wrong) task_.wrong[row] = tally.mistakes != before;
  }

  static constexpr bool absorbs() {
    if constexpr (requires { Space::kAbsorbs; }) return Space::kAbsorbs;
    return false;
  }

  // Predict by the average of the weights, count the mistake, and put it on record. False if the row is refused.
  [[gnu::noinline]] bool predict_by_average(const Row& x, int64_t label) {
    if (!copy_row(x, *task_.averaging) || !task_.averaging->predict(scores_, true))
      return refuse(Refusal::memory), false;
    int64_t best = 0;
    for (int64_t head = 0; head < space_.n_heads; ++head) {
      if (!finite(scores_[head])) return refuse_score(x), false;
      if (scores_[head] > scores_[best]) best = head;
    }
    if (task_.policy == Policy::regression) return true;
    if (space_.n_heads == 1) best = scores_[0] > 0;
    task_.tally[label].mistakes += best != label;
    if (recorded_ && space_.n_heads == 1)
      record_score(scores_[0], self().variance(x, int64_t(0)), label);
    else if (recorded_)
      record_scores(x, label);
    recorded_ = false;
    return true;
  }

  bool binary(int64_t row, const Row& x, int64_t label, double s) {
    MovedHead moved{0, label == 1 ? 1.0 : -1.0};
    moved.f = self().score(x, moved);
    if (!finite(moved.f)) return refuse_score(x), false;
    if (recorded_) record_score(moved.f, self().variance(x, moved), label);
    task_.tally[label].mistakes += (moved.f > 0) != (moved.sign > 0);
    const double c = task_.balanced ? ratio(label == 1, task_.tally[1].seen, task_.tally[0].seen) : task_.cost[label];
    return turn(row, x, {s, c}, 0, &moved, 1);
  }

  bool rival(int64_t row, const Row& x, int64_t label, double s) {
    if (!score_all(x)) return refuse_score(x), false;
    if (recorded_) record_scores(x, label);
    int64_t rival = label == 0 ? 1 : 0;
    for (int64_t head = rival + 1; head < space_.n_heads; ++head)
      if (head != label && scores_[head] > scores_[rival]) rival = head;
    // As with argmax, the first of equal scores is predicted.
    task_.tally[label].mistakes +=
        scores_[rival] > scores_[label] || (scores_[rival] == scores_[label] && rival < label);
    MovedHead moved[2] = {{label, 1, scores_[label]}, {rival, -1, scores_[rival]}};
    return turn(row, x, {s, task_.balanced ? share(label) : task_.cost[1]}, 0, moved, 2);
  }

  bool one_vs_rest(int64_t row, const Row& x, int64_t label, double s) {
    if (!score_all(x)) return refuse_score(x), false;
    if (recorded_) record_scores(x, label);
    int64_t best = 0;
    for (int64_t head = 1; head < space_.n_heads; ++head)
      if (scores_[head] > scores_[best]) best = head;
    task_.tally[label].mistakes += best != label;
    const int64_t total = task_.balanced ? all_seen() : 0;
    bool any = false;
    for (int64_t head = 0; head < space_.n_heads && outcome_.refusal == Refusal::none; ++head) {
      MovedHead moved{head, head == label ? 1.0 : -1.0, scores_[head]};
      const int64_t positive = task_.tally[head].seen;
      const double c = task_.balanced ? ratio(head == label, positive, total - positive) : task_.cost[head == label];
      if (turn(row, x, {s, c}, head, &moved, 1)) any = true;
    }
    return any;
  }

  // Inlined only where one policy uses it, since it is most of the code.
  bool turn(int64_t row, const Row& x, Worth worth, int64_t problem, MovedHead* moved, int n) {
    if constexpr (Space::kOneHead)
      return self().turn(row, x, worth, problem, moved, n);
    else
      return turn_apart(row, x, worth, problem, moved, n);
  }

  // The cost that makes positive and negative examples count the same: rho = T- / T+ for a positive one, 1 for a
  // negative one (section 4.4, with mu+ = mu-). Until both have been seen there is nothing to balance.
  static double ratio(bool is_positive, int64_t positive, int64_t negative) {
    return is_positive && negative > 0 ? double(negative) / double(positive) : 1.0;
  }
  // The same for any number of classes: each counts as if it had its equal share of the examples.
  double share(int64_t label) const {
    int64_t classes = 0;
    for (int64_t k = 0; k < n_classes(); ++k) classes += task_.tally[k].seen > 0;
    return double(all_seen()) / (double(classes) * double(task_.tally[label].seen));
  }
  int64_t all_seen() const {
    int64_t seen = 0;
    for (int64_t k = 0; k < n_classes(); ++k) seen += task_.tally[k].seen;
    return seen;
  }
  int64_t n_classes() const { return space_.n_heads > 1 ? space_.n_heads : 2; }

  [[gnu::noinline]] bool score_all(const Row& x) {
    self().scores(x, scores_);
    bool ok = true;
    for (int64_t head = 0; head < space_.n_heads; ++head) ok = ok && finite(scores_[head]);
    return ok;
  }

  // The weights of a row that is to come, into the second cache: of those for the first the processor has no more than
  // a few dozens on their way at a time, and waits. The indices have not been looked at and may be anything, and so the
  // address is no pointer arithmetic. Always inlined: GCC drops calls of what does nothing but prefetch.
  [[gnu::always_inline]] void fetch(const typename Rows::Stored& to_come) const {
    if constexpr (!Row::dense) to_come.wide ? fetch(to_come.all_wide(), to_come.n) : fetch(to_come.narrow(), to_come.n);
  }
  template <class I>
  [[gnu::always_inline]] void fetch(const I* indices, int64_t n) const {
    const uintptr_t first = reinterpret_cast<uintptr_t>(space_.at(0, 0)),
                    stride = uintptr_t(Space::kOneHead ? 1 : space_.n_heads) * Space::kWidth * sizeof(T);
    for (int64_t i = 0; i < n; ++i)
      __builtin_prefetch(reinterpret_cast<const void*>(first + uintptr_t(indices[i]) * stride), 0, 2);
  }
};

}  // namespace sureline::SURELINE_ISA
