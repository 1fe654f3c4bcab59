// Shared by the learners of online dual coordinate ascent (dual_rule.hpp): rounds, and the window.
#pragma once

#include "loops/loop.hpp"
#include "windows/dual_memory.hpp"

namespace sureline::SURELINE_ISA {

// The growths g and kappa^-N are folded into the stored numbers when they exceed this; g with smoothing far earlier.
template <class T>
inline constexpr double kLargestGrowth = sizeof(T) == 4 ? 1e18 : 1e150;
template <class T>
inline constexpr double kLargestSmoothedGrowth = sizeof(T) == 4 ? 16 : 1024;

// Weights that take more bytes are not all looked at for every fold.
inline constexpr int64_t kWide = int64_t(64) << 20;

// Base of the learners of this family. Space is the coordinates, and Self the learner. It has
//   bool ascend(row, x, s, problem, MovedHead*, n, wanted)   the step of one problem, whose score is to be `wanted`
template <class Self, class Space, class Rows>
class DualStream : public Stream<Self, Space, Rows> {
  using Base = Stream<Self, Space, Rows>;

 protected:
  using Base::journal_;
  using Base::refuse;
  using Base::space_;
  using Base::task_;
  using typename Base::Row;
  using typename Base::T;

  DualStream(const Task& task, const Space& space, const Rows& rows, double* scores)
      : Base(task, space, rows, scores), dual_(*task.dual) {}

  const DualRule& rule() const { return *task_.dual_rule; }
  double variance(const Row&, int64_t) const { return 0; }
  double variance(const Row&, const MovedHead&) const { return 0; }
  bool slides() const { return rule().window == DualRule::Window::sliding; }
  Ascent next(int64_t problem) const {
    return rule().next(dual_.problems[size_t(problem)], task_.memory[problem].t, double(dual_.window.length));
  }
  bool of_problem(int64_t head, int64_t problem) const { return !this->alone() || head == problem; }

  bool turn(int64_t row, const Row& x, Worth worth, int64_t problem, MovedHead* moved, int n_moved) {
    return this->self().ascend(row, x, worth.s * worth.c, problem, moved, n_moved, 1);
  }
  bool regress(int64_t row, const Row& x, double s) {
    MovedHead moved{0, 1};
    moved.f = this->self().score(x, moved);
    const double target = task_.targets[row];
    const double loss = this->unit(row) * rule().loss.value(moved.f, this->told(row));
    if (!finite(moved.f) || !finite(dual_.problems[0].loss += loss)) return this->refuse_score(x), false;
    return this->self().ascend(row, x, s, 0, &moved, 1, target);
  }
  void end(const Row& x) { remember(x); }

  // The contributions of an example: one per moved head, and its row, which enter the window.
  void remember(const Row& x) {
    RowWindow& window = dual_.window;
    if (!slides()) return;
    if (window.full()) window.drop_oldest();
    if (n_parts_ > 0) window.add_row(x);
    window.end_example();
    n_parts_ = 0;
  }
  void remember_part(int64_t head, double coefficient) {
    if (!slides()) return;
    dual_.window.add_part(head, coefficient);
    ++n_parts_;
  }

  // Removes the contribution of the oldest example from theta, if the window is full. False if memory is short.
  template <class Drop>
  bool drop_oldest(int64_t problem, const Drop& drop) {
    if (!dual_.window.full()) return true;
    const RowWindow::Example old = dual_.window.example(0);
    for (int64_t k = 0; k < old.n_parts; ++k) {
      const auto [head, coefficient] = old.parts[k];
      if (!of_problem(head, problem)) continue;
      if (!journal_.reserve(old.n + 1)) return false;
      for (int64_t i = 0; i < old.n; ++i) drop(old.columns[i], head, coefficient * old.values[i]);
      if (space_.intercept) drop(int64_t(-1), head, coefficient);
    }
    return true;
  }

  // The factor of f_N on w': (18), (19), and for a sliding window that is not full yet.
  double decay_of(const Ascent& before, const Ascent& at) const {
    return rule().window == DualRule::Window::exponential ? rule().beta * before.total / at.total
                                                          : before.total / at.total;
  }

  double squared_norm(const Row& x) const {
    const double squares =
        sum<double, kLanes<Row>>(x.size(), [&](int64_t i) { return double(x.value(i)) * double(x.value(i)); });
    return space_.intercept ? squares + 1 : squares;
  }

  DualMemory& dual_;

 private:
  int n_parts_ = 0;  // of the example under way
};

}  // namespace sureline::SURELINE_ISA
