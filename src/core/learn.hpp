// The loop: predict, count, and if the rule says so, step. One loop for all rules, covariances and rows.
#pragma once

#include <cmath>

#include "diagonal.hpp"
#include "full.hpp"
#include "journal.hpp"
#include "kernels.hpp"

namespace sureline::SURELINE_ISA {

template <class T>
inline constexpr double kLargestWeight = sizeof(T) == 4 ? 1e37 : 1e300;

template <class T>
inline constexpr double kLargestScale = sizeof(T) == 4 ? 1e30 : 1e300;

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

template <class Space, class Rows>
class Learner {
  using T = typename Space::T;
  using Row = typename Rows::Row;

 public:
  Learner(const Task& task, const Space& space, const Rows& rows, double* scores)
      : task_(task), space_(space), rows_(rows), scores_(scores), journal_(task.journal) {}

  Outcome run() {
    // Worth it only where the weights do not stay in the nearer caches.
    const bool ahead = !Row::dense && space_.n_slots * space_.n_heads * int64_t(Space::kWidth * sizeof(T)) > (1 << 20);
    const int64_t n = task_.order ? task_.n_order : task_.rows.n_rows;
    for (int64_t t = 0; t < n; ++t) {
      const int64_t row = task_.order ? task_.order[t] : t;
      if (ahead && t + 1 < n) prefetch(rows_[task_.order ? task_.order[t + 1] : t + 1]);
      const double s = task_.sample_weight ? task_.sample_weight[row] : 1.0;
      outcome_.refusal = rows_[row].inspect(task_.rows.n_columns);
      if (outcome_.refusal == Refusal::none) {
        if (s == 0) continue;
        take(row, s);
      }
      if (outcome_.refusal != Refusal::none) {
        outcome_.row = row;
        journal_.undo(space_, rows_);
        break;
      }
      ++outcome_.seen;
      outcome_.updates += moved_;
    }
    return outcome_;
  }

 private:
  void take(int64_t row, double s) {
    switch (task_.policy) {
      case Policy::binary:
        return binary(row, s);
      case Policy::rival:
        return rival(row, s);
      case Policy::one_vs_rest:
        return one_vs_rest(row, s);
    }
  }

  void binary(int64_t row, double s) {
    const Row x = rows_[row];
    MovedHead moved{0, task_.labels[row] == 1 ? 1.0 : -1.0};
    if (task_.rule->needs_variance)
      moved.f = space_.score_and_variance(x, 0, moved.v);
    else
      moved.f = space_.score(x, 0);
    moved.f *= task_.memory->weight_scale;
    if (!finite(moved.f)) return refuse_score(x);
    outcome_.mistakes += (moved.f > 0) != (moved.sign > 0);
    moved_ = turn(row, x, s, *task_.memory, &moved, 1, task_.rule->needs_variance);
  }

  void rival(int64_t row, double s) {
    const Row x = rows_[row];
    if (!score_all(x)) return refuse_score(x);
    const int64_t label = task_.labels[row];
    int64_t rival = label == 0 ? 1 : 0;
    for (int64_t head = rival + 1; head < space_.n_heads; ++head)
      if (head != label && scores_[head] > scores_[rival]) rival = head;
    // As with argmax, the first of equal scores is predicted.
    outcome_.mistakes += scores_[rival] > scores_[label] || (scores_[rival] == scores_[label] && rival < label);
    MovedHead moved[2] = {{label, 1, scores_[label]}, {rival, -1, scores_[rival]}};
    moved_ = turn(row, x, s, *task_.memory, moved, 2, false);
  }

  void one_vs_rest(int64_t row, double s) {
    const Row x = rows_[row];
    if (!score_all(x)) return refuse_score(x);
    const int64_t label = task_.labels[row];
    int64_t best = 0;
    for (int64_t head = 1; head < space_.n_heads; ++head)
      if (scores_[head] > scores_[best]) best = head;
    outcome_.mistakes += best != label;
    moved_ = false;
    for (int64_t head = 0; head < space_.n_heads && outcome_.refusal == Refusal::none; ++head) {
      MovedHead moved{head, head == label ? 1.0 : -1.0, scores_[head]};
      if (turn(row, x, s, task_.memory[head], &moved, 1, false)) moved_ = true;
    }
  }

  bool score_all(const Row& x) {
    space_.scores(x, scores_);
    bool ok = true;
    for (int64_t head = 0; head < space_.n_heads; ++head) {
      scores_[head] *= task_.memory[task_.policy == Policy::one_vs_rest ? head : 0].weight_scale;
      ok = ok && finite(scores_[head]);
    }
    return ok;
  }

  // One binary problem's turn. Everything is checked before anything is written: a refused row leaves no trace.
  bool turn(int64_t row, const Row& x, double s, Memory& memory, MovedHead* moved, int n_moved, bool have_variance) {
    double m = 0, v = 0;
    for (int i = 0; i < n_moved; ++i) m += moved[i].sign * moved[i].f;
    if (!task_.rule->active(m)) return false;
    const bool along_x = Space::kTheta || !task_.rule->uses_variance;
    const double largest_x = along_x ? std::fmax(largest_size(x.values, x.n), space_.intercept) : 0.0;
    for (int i = 0; i < n_moved; ++i) {
      if (!have_variance) moved[i].v = task_.rule->uses_variance ? space_.variance(x, moved[i].head, i) : largest_x;
      moved[i].v *= memory.covariance_scale;
      v += moved[i].v;
    }
    if (!finite(v) || !finite(m)) return refuse(Refusal::score), false;
    if (!(v > 0)) return false;  // a row of zeros moves nothing
    const Step step = task_.rule->step(m, v, s, memory);
    if (!step.moves()) return false;

    const double scale = memory.covariance_scale, beta = step.beta * scale;
    double weight_scale = memory.weight_scale * step.kappa, bound = memory.bound;
    if (!finite(step.alpha) || !finite(beta) || !finite(step.u) || !finite(weight_scale) ||
        !(scale * step.gamma < kLargestScale<T>) || !finite(step.norm2))
      return refuse(Refusal::step), false;

    // kappa = 0 forgets the old weights; a scale that has drifted far is folded into the stored numbers.
    const double fold = weight_scale;
    const bool folds = step.kappa != 1 && !(fold > 1e-12 && fold < 1e12);
    if (folds) {
      bound = largest_weight(moved[0].head) * fold;
      weight_scale = 1;
    }
    double a[2] = {}, keep[2] = {};
    for (int i = 0; i < n_moved; ++i) {
      const MovedHead& h = moved[i];
      if (Space::kCovariance) keep[i] = step.u / v + step.beta * (v - h.v);  // 1 - beta v for this head alone
      a[i] = Space::kTheta || weight_scale == 1 ? h.sign * step.alpha : h.sign * step.alpha / weight_scale;
      if (task_.rule->steps_theta && !Space::kTheta)  // the step of S theta that the steps of theta and S make
        a[i] = h.sign * step.alpha * keep[i] - step.beta * h.f;
      if (!Space::kTheta) a[i] *= scale;
      const double reach = along_x ? largest_x : std::sqrt(h.v / scale);
      if (!grows_safely(bound, weight_scale, h.head, std::fabs(a[i]) * reach)) return refuse(Refusal::step), false;
      if constexpr (requires { &Space::fits; })
        if (!space_.fits(h.head, i, h.v / scale, beta, keep[i])) return refuse(Refusal::step), false;
    }

    if (folds && !journal_.before_rewriting_all(space_)) return refuse(Refusal::memory), false;
    for (int i = 0; i < n_moved; ++i)
      if (!journal_.before_update(space_, x, row, moved[i].head)) return refuse(Refusal::memory), false;
    if (folds) multiply_weights(moved[0].head, fold);
    for (int i = 0; i < n_moved; ++i) space_.update(x, moved[i].head, i, a[i], beta, keep[i]);
    memory.weight_scale = weight_scale;
    memory.covariance_scale = scale * step.gamma;
    memory.norm2 = step.norm2;
    memory.k += 1;
    memory.bound = bound;
    task_.rule->remember(memory);
    // |w|^2 is carried along by its recurrence. ROMMA's magnifies errors by 1 / sin^2 of the angle between x and w, so
    // it is computed anew from the weights as often as that needs: some d updates apart where angles are random in d
    // dimensions.
    memory.doubt *= step.doubt;
    if (task_.rule->tracks_norm && (memory.doubt > 16 || int64_t(memory.k) % (1 << 20) == 0)) {
      memory.norm2 = norm2_of_weights(memory, moved[0].head);
      memory.doubt = 1;
    }
    return true;
  }

  // |S_j x_j| <= sqrt(S_jj v) and S_jj <= 1, so no stored weight moves by more than |a| sqrt(v), and what steps along x
  // by no more than |a| times its largest entry. The running sum of these is a bound that costs nothing; only if it is
  // reached are the weights looked at.
  bool grows_safely(double& bound, double weight_scale, int64_t head, double growth) const {
    const double limit = kLargestWeight<T> / (weight_scale > 1 ? weight_scale : 1.0);
    bound += growth;
    if (bound < limit) return true;
    bound = largest_weight(head) + growth;
    return bound < limit;
  }

  // The heads that share a problem's scale: all of them, or one against the rest.
  template <class F>
  void each_weight(int64_t head, const F& f) const {
    const bool alone = task_.policy == Policy::one_vs_rest;
    for (int64_t slot = 0; slot < space_.n_slots; ++slot)
      for (int64_t h = alone ? head : 0; h < (alone ? head + 1 : space_.n_heads); ++h) f(space_.at(slot - 1, h));
  }
  double largest_weight(int64_t head) const {
    double size = 0;
    each_weight(head, [&](const T* w) { size = std::fmax(size, std::fabs(double(*w))); });
    return size;
  }
  void multiply_weights(int64_t head, double scale) {
    each_weight(head, [&](T* w) {
      if (*w != 0) *w = T(*w * scale);  // leave untouched pages untouched
    });
  }
  double norm2_of_weights(const Memory& memory, int64_t head) const {
    double total = 0;
    each_weight(head, [&](const T* w) { total += double(*w) * *w; });
    return total * memory.weight_scale * memory.weight_scale;
  }

  void prefetch(const Row& x) const {
    // The row has not been looked at yet: its indices may be anything, and so the address is no pointer arithmetic.
    const uintptr_t first = reinterpret_cast<uintptr_t>(space_.weights);
    const uintptr_t stride = uintptr_t(space_.n_heads) * Space::kWidth * sizeof(T);
    for (int64_t i = 0; i < x.size(); ++i)
      __builtin_prefetch(reinterpret_cast<const void*>(first + (uintptr_t(x.index(i)) + 1) * stride), 1);
  }
  void refuse(Refusal why) { outcome_.refusal = why; }
  void refuse_score(const Row& x) { refuse(finite(largest_size(x.values, x.n)) ? Refusal::score : Refusal::contents); }

  const Task& task_;
  const Space space_;
  const Rows rows_;
  double* scores_;  // one for each head
  Journal<Space> journal_;
  Outcome outcome_;
  bool moved_ = false;
};

// From the run-time description of rows and model to the types of the loop.
template <class T, class F>
auto with_rows(const Rows& rows, const F& f) {
  const T* values = static_cast<const T*>(rows.values);
  if (rows.layout == Rows::Layout::dense) return f(DenseRows<T>{values, rows.n_rows, rows.n_columns});
  if (rows.layout == Rows::Layout::csr32)
    return f(SparseRows<T, int32_t>{values, static_cast<const int32_t*>(rows.indices),
                                    static_cast<const int32_t*>(rows.indptr), rows.n_rows});
  return f(SparseRows<T, int64_t>{values, static_cast<const int64_t*>(rows.indices),
                                  static_cast<const int64_t*>(rows.indptr), rows.n_rows});
}

template <class T, bool one_head, class F>
auto with_shape(const Model& model, T* scratch, const F& f) {
  T* w = static_cast<T*>(model.weights);
  switch (model.shape) {
    case Shape::identity:
      return f(Identity<T, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::diagonal:
      return f(Diagonal<T, false, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::theta:
      return f(Diagonal<T, true, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    default:
      return f(
          Full<T, one_head>{w, model.n_slots, model.n_heads, model.intercept, static_cast<T*>(model.factors), scratch});
  }
}

template <class T, class F>
auto with_space(const Model& model, T* scratch, const F& f) {
  return model.n_heads == 1 ? with_shape<T, true>(model, scratch, f) : with_shape<T, false>(model, scratch, f);
}

template <class T>
Outcome learn(const Task& task, const Model& model) {
  Buffer<double> scores;
  Buffer<T> scratch;
  if (!scores.reserve(model.n_heads) ||
      (model.shape == Shape::full && !scratch.reserve(Full<T, true>::scratch_size(model.n_slots))))
    return {.refusal = Refusal::memory};
  return with_rows<T>(task.rows, [&](const auto& rows) {
    return with_space(model, scratch.data(),
                      [&](const auto& space) { return Learner(task, space, rows, scores.data()).run(); });
  });
}

template <class T, bool variance>
Outcome evaluate(const Rows& described, const Model& model, double* out) {
  Buffer<T> scratch;
  if (model.shape == Shape::full && !scratch.reserve(Full<T, true>::scratch_size(model.n_slots)))
    return {.refusal = Refusal::memory};
  return with_rows<T>(described, [&](const auto& rows) {
    return with_space(model, scratch.data(), [&](const auto& space) {
      for (int64_t row = 0; row < rows.n_rows; ++row) {
        const auto x = rows[row];
        Refusal refusal = x.inspect(described.n_columns);
        if (refusal == Refusal::none) {
          if constexpr (variance)
            for (int64_t head = 0; head < model.n_heads; ++head) out[head] = space.variance(x, head, 0);
          else
            space.scores(x, out);
          for (int64_t head = 0; head < model.n_heads; ++head)
            if (!finite(out[head])) refusal = finite(largest_size(x.values, x.n)) ? Refusal::score : Refusal::contents;
        }
        if (refusal != Refusal::none) return Outcome{.refusal = refusal, .row = row};
        out += model.n_heads;
      }
      return Outcome{};
    });
  });
}

}  // namespace sureline::SURELINE_ISA
