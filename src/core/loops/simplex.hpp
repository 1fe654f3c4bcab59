// Online dual coordinate ascent on the simplex (dual_rule.hpp, table I c): the weights of a head are positive and sum
// to one. Every round changes all of them, so that it costs what the model is wide.
#pragma once

#include "loops/dual_stream.hpp"

namespace sureline::SURELINE_ISA {

// The numbers of a weight are the weight that predicts, w or w-bar, and theta. The intercept has l2 regularisation.
template <class Space, class Rows>
class SimplexAscent : public DualStream<SimplexAscent<Space, Rows>, Space, Rows> {
  using Base = DualStream<SimplexAscent<Space, Rows>, Space, Rows>;
  friend Base;
  friend Stream<SimplexAscent<Space, Rows>, Space, Rows>;
  using Base::dual_;
  using Base::refuse;
  using Base::rule;
  using Base::space_;
  using Base::task_;
  using typename Base::Row;
  using typename Base::T;

 public:
  SimplexAscent(const Task& task, const Space& space, const Rows& rows, double* scores)
      : Base(task, space, rows, scores) {}

 private:
  bool begin(const Row&, int64_t, double) { return true; }
  double score(const Row& x, const MovedHead&) const { return space_.score(x, 0, Round{}); }
  void scores(const Row& x, double* f) const {
    const Round round;
    space_.scores(x, {&round, 1}, f);
  }

  T& theta(int64_t column, int64_t head) const { return space_.at(column, head)[1]; }

  bool ascend(int64_t, const Row& x, double s, int64_t problem, const MovedHead* moved, int n_moved, double wanted) {
    Memory& memory = task_.memory[problem];
    Ascent& at = dual_.problems[size_t(problem)];
    at = this->next(problem);
    if (at.growth > kLargestGrowth<T>) {
      for (int64_t slot = 0; slot < space_.n_slots; ++slot)
        for (int64_t head = 0; head < space_.n_heads; ++head)
          if (this->of_problem(head, problem)) theta(slot - 1, head) = T(theta(slot - 1, head) / at.growth);
      at.growth = 1;
    }
    if (!this->drop_oldest(problem, [&](int64_t column, int64_t head, double by) {
          theta(column, head) = T(theta(column, head) - by);
        }))
      return refuse(Refusal::memory), false;
    const double a = s / (rule().rho * at.total);
    if (!gather(x, at, moved, n_moved)) return refuse(Refusal::memory), false;
    const double b = best_dual(rule().loss, wanted,
                               [&](double at_b, double& slope) { return margin(at_b, a, moved, n_moved, slope); });
    const double largest = largest_size(x.values, x.n), step = at.growth * s * b;
    if (!finite(largest * largest * a)) return refuse(Refusal::step), false;
    const bool moves = b != 0 && (largest > 0 || space_.intercept);
    if (moves) {
      const double by = std::fabs(step) * (space_.intercept && largest < 1 ? 1.0 : largest);
      memory.bound += by;
      if (!finite(step) || !(memory.bound * rule().scale(at) < kLargestWeight<T>) ||
          !(memory.bound < kLargestWeight<T>))
        return refuse(Refusal::step), false;
      for (int k = 0; k < n_moved; ++k) {
        const double step_k = moved[k].sign * step;
        for (int64_t i = 0; i < x.size(); ++i)
          theta(x.index(i), moved[k].head) = T(theta(x.index(i), moved[k].head) + step_k * x.value(i));
        if (space_.intercept) theta(-1, moved[k].head) = T(theta(-1, moved[k].head) + step_k);
        this->remember_part(moved[k].head, step_k);
      }
      memory.k += 1;
    }
    project(problem, at);
    return moves;
  }

  // For each head that moves: w' of the row's entries before the step, and of all others the largest and the sum of
  // exp(. - largest).
  bool gather(const Row& x, const Ascent& at, const MovedHead* moved, int n_moved) {
    const double scale = rule().scale(at);
    n_ = x.size();
    base_.clear(), x_.clear();
    if (!base_.reserve(n_moved * (n_ + 3)) || !x_.reserve(n_)) return false;
    for (int64_t i = 0; i < n_; ++i) x_.data()[i] = x.value(i);
    const int64_t n_columns = space_.n_slots - 1;
    for (int k = 0; k < n_moved; ++k) {
      const int64_t head = moved[k].head;
      double* base = base_.data() + k * (n_ + 3);
      const auto others = [&](const auto& f) {  // the row's columns ascend
        int64_t i = 0;
        for (int64_t column = 0; column < n_columns; ++column) {
          if (i < n_ && x.index(i) == column) {
            ++i;
            continue;
          }
          f(scale * theta(column, head));
        }
      };
      for (int64_t i = 0; i < n_; ++i) base[i] = scale * theta(x.index(i), head);
      double largest = -std::numeric_limits<double>::infinity(), total = 0;
      others([&](double w) { largest = w > largest ? w : largest; });
      others([&](double w) { total += std::exp(w - largest); });
      base[n_] = largest, base[n_ + 1] = total;
      base[n_ + 2] = space_.intercept ? scale * theta(-1, head) : 0.0;
    }
    return true;
  }

  double margin(double b, double a, const MovedHead* moved, int n_moved, double& slope) {
    const double* x = x_.data();
    double m = 0;
    slope = 0;
    for (int k = 0; k < n_moved; ++k) {
      const double* base = base_.data() + k * (n_ + 3);
      const double step = moved[k].sign * a * b;
      double largest = base[n_];
      for (int64_t i = 0; i < n_; ++i) largest = std::fmax(largest, base[i] + step * x[i]);
      double total = base[n_ + 1] > 0 ? base[n_ + 1] * std::exp(base[n_] - largest) : 0.0, mean = 0;
      for (int64_t i = 0; i < n_; ++i) {
        const double e = std::exp(base[i] + step * x[i] - largest);
        total += e;
        mean += e * x[i];
      }
      mean /= total;
      // The variance of the row's values under the weights, as a sum of squares.
      double rest = base[n_ + 1] > 0 ? base[n_ + 1] * std::exp(base[n_] - largest) : 0.0, variance = rest * mean * mean;
      for (int64_t i = 0; i < n_; ++i) {
        const double e = std::exp(base[i] + step * x[i] - largest);
        variance += e * (x[i] - mean) * (x[i] - mean);
      }
      double f = mean;
      slope += a * variance / total;
      if (space_.intercept) f += base[n_ + 2] + step, slope += a;
      m += moved[k].sign * f;
    }
    return m;
  }

  // w = grad R*(w') for all heads of the problem, and the smoothing of eq. (27).
  void project(int64_t problem, Ascent& at) {
    const double scale = rule().scale(at);
    at.sum = 1 + rule().kappa * at.sum;
    const double fresh = 1 / at.sum;
    for (int64_t head = 0; head < space_.n_heads; ++head) {
      if (!this->of_problem(head, problem)) continue;
      double largest = -std::numeric_limits<double>::infinity(), total = 0;
      for (int64_t column = 0; column < space_.n_slots - 1; ++column)
        largest = std::fmax(largest, scale * theta(column, head));
      for (int64_t column = 0; column < space_.n_slots - 1; ++column)
        total += std::exp(scale * theta(column, head) - largest);
      for (int64_t column = -1; column < space_.n_slots - 1; ++column) {
        T* p = space_.at(column, head);
        const double w = column < 0 ? scale * p[1] : std::exp(scale * p[1] - largest) / total;
        p[0] = T(rule().kappa > 0 ? p[0] + fresh * (w - p[0]) : w);
      }
    }
  }

  Buffer<double> base_, x_;
  int64_t n_ = 0;
};

}  // namespace sureline::SURELINE_ISA
