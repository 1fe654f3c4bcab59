// Margin rules: the change of weights and covariance by one example, given the rule's step.
#pragma once

#include "loops/loop.hpp"
#include "spaces/diagonal.hpp"
#include "spaces/full.hpp"

namespace sureline::SURELINE_ISA {

template <class T>
inline constexpr double kLargestScale = sizeof(T) == 4 ? 1e30 : 1e300;

template <class Space, class Rows>
class MarginLearner : public Stream<MarginLearner<Space, Rows>, Space, Rows> {
  using Base = Stream<MarginLearner<Space, Rows>, Space, Rows>;
  friend Base;
  using Base::journal_;
  using Base::refuse;
  using Base::space_;
  using Base::task_;
  using typename Base::Row;
  using typename Base::T;

 public:
  MarginLearner(const Task& task, const Space& space, const Rows& rows, double* scores)
      : Base(task, space, rows, scores) {
    if constexpr (Space::kSelects)
      if (selection() && !selection()->has_keys()) compute_keys();
  }

 private:
  bool begin(const Row&, int64_t, double) { return true; }
  void end(const Row&) {}

  // True if the variance is computed with the score: where it is needed in any case, as for the record, or lies beside
  // the weights, so that it costs less there than in a second pass over the rows that turn out to need it.
  bool comes_with_variance() const {
    const Policy policy = this->policy();
    if (!Base::kMayHaveOneHead || (policy != Policy::binary && policy != Policy::regression)) return false;
    return task_.rule->needs_variance ||
           (Space::kPaired && task_.rule->uses_variance && (!Row::dense || this->recorded_));
  }
  double score(const Row& x, MovedHead& moved) const {
    const double scale = task_.memory->weight_scale;
    return scale * (comes_with_variance() ? space_.score_and_variance(x, 0, moved.v) : space_.score(x, 0));
  }
  void scores(const Row& x, double* f) const {
    space_.scores(x, f);
    for (int64_t head = 0; head < space_.n_heads; ++head)
      f[head] *= task_.memory[this->alone() ? head : 0].weight_scale;
  }

  double variance(const Row& x, int64_t head) const {
    if constexpr (!Space::kCovariance) return 0;
    return space_.variance(x, head, 0) * task_.memory[this->alone() ? head : 0].covariance_scale;
  }
  double variance(const Row& x, const MovedHead& moved) const {
    if (!Space::kCovariance || !comes_with_variance()) return variance(x, moved.head);
    return moved.v * task_.memory->covariance_scale;
  }

  // The turn of a target: the rule gets the prediction as margin, and the target as the label's value.
  bool regress(int64_t row, const Row& x, double s) {
    MovedHead moved{0, 1};
    moved.f = score(x, moved);
    const double e = this->told(row) - (task_.averaging ? this->scores_[0] : moved.f);
    if (!finite(moved.f) || !finite(task_.memory->c += this->unit(row) * (e * e / 2)))
      return this->refuse_score(x), false;
    return this->turn_apart(row, x, {s, task_.targets[row]}, 0, &moved, 1);
  }

  // One binary problem's turn. Everything is checked before anything is written: a refused row leaves no trace.
  // Inlined where loop.hpp has it: with one head known, dense rows take three quarters of the time.
  [[gnu::always_inline]] bool turn(int64_t row, const Row& x, Worth worth, int64_t problem, MovedHead* moved,
                                   int n_moved) {
    Memory& memory = task_.memory[problem];
    const bool have_variance = comes_with_variance();
    double m = 0, v = 0;
    for (int i = 0; i < n_moved; ++i) m += moved[i].sign * moved[i].f;
    if (!task_.rule->active(m)) return rest(memory, moved[0].head);
    const bool along_x = Space::kTheta || !task_.rule->uses_variance;
    double largest_x = along_x ? largest_size(x.values, x.n) : 0.0;
    if (along_x && space_.intercept && largest_x < 1) largest_x = 1;
    for (int i = 0; i < n_moved; ++i) {
      if (!have_variance) moved[i].v = task_.rule->uses_variance ? space_.variance(x, moved[i].head, i) : largest_x;
      moved[i].v *= memory.covariance_scale;
      v += moved[i].v;
    }
    if (!finite(v) || !finite(m)) return refuse(Refusal::score), false;
    if (!(v > 0)) return rest(memory, moved[0].head);  // a row of zeros moves nothing
    const Step step = task_.rule->step(m, v, worth.s, worth.c, memory);
    if (!step.moves()) return rest(memory, moved[0].head);

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
      if (Space::kCovariance) keep[i] = step.u / v + step.beta * (v - h.v);  // 1 - beta v for this head only
      a[i] = Space::kTheta || weight_scale == 1 ? h.sign * step.alpha : h.sign * step.alpha / weight_scale;
      if (task_.rule->steps_theta && !Space::kTheta)  // the step of S theta that the steps of theta and S make
        a[i] = h.sign * step.alpha * keep[i] - step.beta * h.f;
      if (!Space::kTheta) a[i] *= scale;
      const double reach = along_x ? largest_x : std::sqrt(h.v / scale);
      if (!grows_safely(bound, weight_scale, h.head, std::fabs(a[i]) * reach)) return refuse(Refusal::step), false;
      if constexpr (requires { &Space::fits; })
        if (!space_.fits(h.head, i, h.v / scale, beta, keep[i])) return refuse(Refusal::step), false;
    }

    if (folds && !before_rewriting(moved[0].head)) return refuse(Refusal::memory), false;
    // Sums of weights that shrink so much would be lost to rounding.
    if ((folds || step.kappa < 0.01) && !settle_average(problem)) return refuse(Refusal::memory), false;
    for (int i = 0; i < n_moved; ++i)
      if (!journal_.before_update(space_, x, row, moved[i].head) || !has_room_to_select(x, moved[i].head))
        return refuse(Refusal::memory), false;
    if (folds) multiply_weights(moved[0].head, fold);
    for (int i = 0; i < n_moved; ++i) space_.update(x, moved[i].head, i, a[i], beta, keep[i]);
    memory.weight_scale = weight_scale;
    memory.covariance_scale = scale * step.gamma;
    memory.norm2 = step.norm2;
    memory.k += 1;
    memory.bound = bound;
    task_.rule->remember(memory);
    if constexpr (Space::kSelects)
      if (selection()) {
        double lost = 0;
        for (int i = 0; i < n_moved; ++i) lost += select(x, moved[i].head);
        memory.norm2 = std::fmax(0.0, memory.norm2 - lost * weight_scale * weight_scale);
      }
    // |w|^2 is carried along by its recurrence. ROMMA's magnifies errors by 1 / sin^2 of the angle between x and w, so
    // it is computed anew from the weights as often as that needs: some d updates apart where angles are random in d
    // dimensions. Where there is a selection only what is in it has to be looked at.
    memory.error_growth *= step.error_growth;
    if (task_.rule->tracks_norm && (memory.error_growth > 16 || int64_t(memory.k) % updates_per_norm() == 0)) {
      memory.norm2 = norm2_of_weights(memory, moved[0].head);
      memory.error_growth = 1;
    }
    return true;
  }

  // The turn of an example that moves nothing: the weights of a rule that decays still do. Always false.
  bool rest(Memory& memory, int64_t head) {
    const double decay = task_.rule->decay;
    if (decay == 1) return false;
    double weight_scale = memory.weight_scale * decay;
    if (!(weight_scale > 1e-12)) {
      if (!before_rewriting(head) || !settle_average(this->alone() ? head : 0)) return refuse(Refusal::memory), false;
      memory.bound = largest_weight(head) * weight_scale;
      multiply_weights(head, weight_scale);
      weight_scale = 1;
    }
    memory.weight_scale = weight_scale;
    memory.norm2 *= decay * decay;
    return false;
  }

  // |S_j x_j| <= sqrt(S_jj v) and S_jj <= 1, so no stored weight moves by more than |a| sqrt(v), and what steps along x
  // by no more than |a| times its largest entry. The running sum of these is a bound that costs nothing; only if it is
  // reached are the weights looked at.
  bool grows_safely(double& bound, double weight_scale, int64_t head, double growth) const {
    double limit = kLargestWeight<T> / (weight_scale > 1 ? weight_scale : 1.0);
    if (task_.averaging && limit > 1e150) limit = 1e150;  // their sums are to be finite
    bound += growth;
    if (bound < limit) return true;
    bound = largest_weight(head) + growth;
    return bound < limit;
  }

  bool settle_average(int64_t problem) { return !task_.averaging || task_.averaging->settle(problem); }

  // The heads that share a problem's scale: all of them, or one against the rest. f gets the column and the head of
  // every weight that may be nonzero.
  template <class F>
  void each_place(int64_t head, const F& f) const {
    const int64_t first = this->alone() ? head : 0, last = this->alone() ? head + 1 : space_.n_heads;
    if (!selection()) {
      each_touched_slot(space_, [&](int64_t slot) {
        for (int64_t h = first; h < last; ++h) f(slot - 1, h);
      });
      return;
    }
    for (int64_t h = first; h < last; ++h) {
      f(-1, h);
      for (int64_t i = 0; i < selection()->n_members(h); ++i) f(selection()->slot(h, i) - 1, h);
    }
  }
  template <class F>
  void each_weight(int64_t head, const F& f) const {
    each_place(head, [&](int64_t column, int64_t h) { f(space_.at(column, h)); });
  }
  [[gnu::cold, gnu::noinline]] double largest_weight(int64_t head) const {
    double size = 0;
    each_weight(head, [&](const T* w) { size = std::fmax(size, std::fabs(double(*w))); });
    return size;
  }
  [[gnu::cold, gnu::noinline]] void multiply_weights(int64_t head, double scale) {
    each_weight(head, [&](T* w) {
      if (*w != 0) *w = T(*w * scale);  // leave untouched pages untouched
    });
    if constexpr (Space::kSelects)
      if (selection()) compute_keys();
  }
  [[gnu::cold, gnu::noinline]] bool before_rewriting(int64_t head) {
    if (!selection()) return journal_.before_rewriting_all(space_);
    if (!journal_.reserve(selection()->n_members() + space_.n_heads)) return false;
    each_place(head, [&](int64_t column, int64_t h) { journal_.before_changing(space_, column, h); });
    return true;
  }
  [[gnu::cold, gnu::noinline]] double norm2_of_weights(const Memory& memory, int64_t head) const {
    double total = 0;
    each_weight(head, [&](const T* w) { total += double(*w) * *w; });
    return total * memory.weight_scale * memory.weight_scale;
  }
  int64_t updates_per_norm() const {  // a power of 2; with a selection, not much more than its size
    if (!selection()) return 1 << 20;
    int64_t n = 1024;
    while (n < selection()->n_members()) n *= 2;
    return n;
  }

  // -- the selection (top_features.hpp) -------------------------------------------------------------------------------

  Selection* selection() const { return Space::kSelects ? task_.selection : nullptr; }

  [[gnu::cold, gnu::noinline]] void compute_keys() {
    for (int64_t head = 0; head < space_.n_heads; ++head)
      for (int64_t i = 0; i < selection()->n_members(head); ++i)
        selection()->set_key(head, i, space_.key(space_.at(selection()->slot(head, i) - 1, head)));
    selection()->arrange();
  }

  bool has_room_to_select(const Row& x, int64_t head) { return !selection() || make_room_to_select(x, head); }
  [[gnu::noinline]] bool make_room_to_select(const Row& x, int64_t head) {
    offers_.clear(), leaving_.clear();
    return offers_.reserve(x.size()) && leaving_.reserve(x.size()) && journal_.reserve(2 * x.size()) &&
           selection()->reserve(head, x.size());
  }

  // Clears the weights of features that leave after a step along x. Returns the sum of their squares, as stored.
  [[gnu::noinline]] double select(const Row& x, int64_t head) {
    offers_.clear();
    double bound = std::numeric_limits<double>::infinity();
    if (Space::kKeysFall) bound = std::fmax(selection()->bound(head), double(kSmallestVariance<T>));
    for (int64_t i = 0; i < x.size(); ++i) {
      if (x.value(i) == 0) continue;
      T* w = space_.at(x.index(i), head);
      const double key = space_.key(w);
      if (key > bound)  // no member has such a key, nor had one before the step
        *w = 0;
      else
        offers_.push({x.index(i) + 1, key});
    }
    const int64_t n = selection()->choose(head, offers_.data(), offers_.size(), leaving_.data());
    double lost = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t column = leaving_[i] - 1;
      T* w = space_.at(column, head);
      journal_.before_changing(space_, column, head);
      lost += double(*w) * *w;
      *w = 0;
    }
    return lost;
  }

  Buffer<Selection::Offer> offers_;
  Buffer<int64_t> leaving_;  // slots
};

}  // namespace sureline::SURELINE_ISA
