// Online dual coordinate ascent with l2 or elastic net regularisation (dual_rule.hpp): the step of one example.
#pragma once

#include "loops/dual_stream.hpp"
#include "spaces/coordinates.hpp"

namespace sureline::SURELINE_ISA {

template <class Space, class Rows>
class OnlineAscent : public DualStream<OnlineAscent<Space, Rows>, Space, Rows> {
  using Base = DualStream<OnlineAscent<Space, Rows>, Space, Rows>;
  friend Base;
  friend Stream<OnlineAscent<Space, Rows>, Space, Rows>;
  using Base::dual_;
  using Base::journal_;
  using Base::refuse;
  using Base::rule;
  using Base::space_;
  using Base::task_;
  using typename Base::Row;
  using typename Base::T;
  static constexpr bool kSmoothed = Space::Kind::kSmoothed, kCounted = Space::Kind::kCounted;

 public:
  OnlineAscent(const Task& task, const Space& space, const Rows& rows, double* scores, Round* rounds)
      : Base(task, space, rows, scores), rounds_(rounds), delta_(rule().delta) {
    if (kSmoothed && delta_ > 0 && !dual_.crossings.fits(space.n_heads)) find_crossings();
  }

 private:
  bool begin(const Row&, int64_t, double) {
    for (int64_t problem = 0; problem < this->n_problems(); ++problem)
      rounds_[problem] = rule().round(dual_.problems[size_t(problem)]);
    if constexpr (kCounted) prefetch_second_oldest();
    return true;
  }
  // On the way, theta of the row is put in one place and looked at with the scale of the next round too.
  double score(const Row& x, const MovedHead& moved) {
    if (kCounted || delta_ == 0) return space_.score(x, 0, rounds_[0]);
    if (!gather(x, &moved, 1)) return refuse(Refusal::memory), 0.0;
    look_ = cut_sums<true>(x, theta_.data(), rule().scale(this->next(0)), 0);
    const double f = look_.predicted;
    return rounds_[0].scale * (space_.intercept ? f + theta_[x.size()] : f);
  }
  void scores(const Row& x, double* f) const { space_.scores(x, {rounds_, this->n_problems()}, f); }

  // One round of one problem, eq. (26): true if lambda(N) is not 0.
  bool ascend(int64_t row, const Row& x, double s, int64_t problem, MovedHead* moved, int n_moved, double wanted) {
    Memory& memory = task_.memory[problem];
    Ascent& at = dual_.problems[size_t(problem)];
    const Ascent before = before_ = at;
    at = this->next(problem);
    const bool folds = at.growth > (kSmoothed ? kLargestSmoothedGrowth<T> : kLargestGrowth<T>);
    if (folds && !fold_growth(problem, at)) return refuse(Refusal::memory), false;
    const double a = s / (rule().rho * at.total);  // w' of the row moves by a b x
    double b = 0, squares = 0;
    if constexpr (kCounted) {
      if constexpr (kSmoothed)
        if (!pass_threshold(problem, at)) return refuse(Refusal::memory), false;
      if (!this->drop_oldest(problem, [&](int64_t column, int64_t head, double by) { drop(column, head, by, at); }))
        return refuse(Refusal::memory), false;
    }
    if (!kCounted && delta_ == 0) {
      // w' is w, and all that happened to it since the prediction is the decay.
      const double old_scale = rule().scale(before), decay = old_scale > 0 ? this->decay_of(before, at) : 0.0;
      double m = 0;
      for (int i = 0; i < n_moved; ++i) m += moved[i].sign * (decay * moved[i].f);
      if (clears(m, wanted)) return rest(problem), false;
      squares = this->squared_norm(x);
      if (!finite(squares)) return refuse(Refusal::step), false;
      b = best_dual(rule().loss, m, a * double(n_moved) * squares, wanted);
    } else {
      const bool looked = !kCounted && Space::kOneHead && !folds;  // when the row was scored
      if (!looked && !gather(x, moved, n_moved)) return refuse(Refusal::memory), false;
      const double scale = rule().scale(at);
      double slope = 0;
      const double m =
          looked ? first_margin(x, a, scale, moved[0].sign, slope) : margin(x, 0, a, scale, moved, n_moved, slope);
      if (clears(m, wanted)) return rest(problem), false;
      squares = looked ? look_.squares + space_.intercept : this->squared_norm(x);
      if (!finite(squares)) return refuse(Refusal::step), false;
      const double steepest = a * double(n_moved) * squares;
      b = delta_ == 0 ? best_dual(rule().loss, m, steepest, wanted)
                      : best_dual(rule().loss, wanted, m, slope, steepest, [&](double at_b, double& rise) {
                          return margin(x, at_b, a, scale, moved, n_moved, rise);
                        });
    }
    if (b == 0 || !(squares > 0)) return rest(problem), false;
    const double step = at.growth * s * b;
    if (!finite(step) || !grows_safely(memory, std::fabs(step) * std::sqrt(squares)) ||
        (kSmoothed && !(std::fabs(at.reach) * memory.bound < kLargestWeight<T>)))
      return refuse(Refusal::step), false;

    for (int i = 0; i < n_moved; ++i)
      if (!journal_.before_update(space_, x, row, moved[i].head)) return refuse(Refusal::memory), false;
    for (int i = 0; i < n_moved; ++i) {
      add(x, moved[i].head, moved[i].sign * step, at, problem);
      this->remember_part(moved[i].head, moved[i].sign * step);
    }
    memory.k += 1;
    rest(problem);
    return true;
  }

  // True if the loss is zero already, so that the row needs no further pass.
  bool clears(double m, double wanted) const {
    return m >= wanted &&
           (rule().loss.kind == DualLoss::Kind::hinge || rule().loss.kind == DualLoss::Kind::squared_hinge);
  }

  // The contribution of the end of the rounds to the smoothing.
  void rest(int64_t problem) {
    if constexpr (kSmoothed) {
      Ascent& at = dual_.problems[size_t(problem)];
      at.turned /= rule().kappa;
      if (at.turned > kLargestGrowth<T> && !fold_turned(problem, at)) return refuse(Refusal::memory);
      at.sum += at.turned;
      at.since += at.turned;
      at.reach += at.turned * rule().scale(at);
      at.cut = rule().rho * delta_;
    }
  }

  // -- the row in one place, for the steps without a closed form ------------------------------------------------------

  // theta of the row's entries, the intercept's last, for each head that moves.
  bool gather(const Row& x, const MovedHead* moved, int n_moved) {
    const int64_t n = x.size();
    theta_.clear();
    if (!theta_.reserve((n + 1) * n_moved)) return false;
    for (int k = 0; k < n_moved; ++k) {
      T* theta = theta_.data() + k * (n + 1);
      for (int64_t i = 0; i < n; ++i) theta[i] = *space_.at(x.index(i), moved[k].head);
      theta[n] = *space_.at(-1, moved[k].head);
    }
    return true;
  }

  struct Sums {
    double f, active;           // x.w, and |x|^2 of the entries whose w is not cut to zero
    double predicted, squares;  // x.soft(theta, the threshold of the prediction), |x|^2
  };

  // w = soft(scale theta + step x, delta). In vectors that are written down, since the compiler would branch for every
  // entry; in as many partial sums as score() of the space has, so that predictions have the same bits.
  template <bool first>
  Sums cut_sums(const Row& x, const T* theta, double scale, double step) const {
    constexpr int L = kLanes<Row>;
    typedef double V __attribute__((vector_size(L * sizeof(double))));
    typedef T Stored __attribute__((vector_size(L * sizeof(T))));
    const V zero = {}, high = zero + delta_, low = zero - delta_, top = zero + rounds_[0].threshold,
            bottom = zero - top;
    V lanes[4] = {};
    T last[2][L] = {};
    const int64_t n = x.size(), rest = n % L;
    for (int64_t i = 0; i < rest; ++i) last[0][i] = x.values[n - rest + i], last[1][i] = theta[n - rest + i];
    for (int64_t i = 0; i < n; i += L) {
      const bool whole = i + L <= n;
      Stored of_x, of_theta;  // not load(), whose vectors have the machine's width
      __builtin_memcpy(&of_x, whole ? x.values + i : last[0], sizeof of_x);
      __builtin_memcpy(&of_theta, whole ? theta + i : last[1], sizeof of_theta);
      const V value = __builtin_convertvector(of_x, V), stored = __builtin_convertvector(of_theta, V);
      const V w = stored * scale + value * step;
      V inside = w < low ? low : w;
      inside = inside > high ? high : inside;
      const V left = w - inside, square = value * value;
      lanes[0] += value * left;
      lanes[1] += left != zero ? square : zero;
      if (first) {
        V within = stored < bottom ? bottom : stored;
        within = within > top ? top : within;
        lanes[2] += value * (stored - within);
        lanes[3] += square;
      }
    }
    double sums[4] = {};
    for (int k = 0; k < (first ? 4 : 2); ++k) {
      double numbers[L];
      __builtin_memcpy(numbers, &lanes[k], sizeof numbers);
      for (int half = L / 2; half > 0; half /= 2)
        for (int l = 0; l < half; ++l) numbers[l] += numbers[l + half];
      sums[k] = numbers[0];
    }
    return {sums[0], sums[1], sums[2], sums[3]};
  }

  // m(b), and its slope.
  double margin(const Row& x, double b, double a, double scale, const MovedHead* moved, int n_moved, double& slope) {
    double m = 0, active = 0;
    for (int k = 0; k < n_moved; ++k) {
      const T* theta = theta_.data() + k * (x.size() + 1);
      const double step = moved[k].sign * a * b;
      Sums sums = cut_sums<false>(x, theta, scale, step);
      if (space_.intercept) sums.f += scale * double(theta[x.size()]) + step, sums.active += 1;
      m += moved[k].sign * sums.f;
      active += sums.active;
    }
    slope = a * active;
    return m;
  }
  // m(0) of the only head, from sums taken while the row was scored.
  double first_margin(const Row& x, double a, double scale, double sign, double& slope) {
    const double f = space_.intercept ? look_.f + scale * double(theta_[x.size()]) : look_.f;
    slope = a * (look_.active + space_.intercept);
    return sign * f;
  }

  // The row that the next example pushes out of the window is on its way into the cache from now on.
  [[gnu::always_inline]] void prefetch_second_oldest() const {
    const RowWindow& window = dual_.window;
    if (window.size() < 2 || window.size() + 1 < window.length) return;
    const RowWindow::Example old = window.example(1);
    for (int64_t i = 0; old.n_parts > 0 && i < old.n; ++i)
      __builtin_prefetch(space_.at(old.columns[i], old.parts[0].head), 1);
  }

  // -- changes of theta -----------------------------------------------------------------------------------------------

  void add(const Row& x, int64_t head, double step, const Ascent& at, int64_t problem) {
    if (dual_.known_slots.known()) {
      dual_.known_slots.add(0);
      for (int64_t i = 0; i < x.size(); ++i) dual_.known_slots.add(x.index(i) + 1);
    }
    for (int64_t i = 0; i < x.size(); ++i) {
      T* p = space_.at(x.index(i), head);
      const double by = step * x.value(i);
      if constexpr (kCounted) {
        if (x.value(i) == 0) continue;  // a zero of a dense row counts like a missing entry
        change<true>(p, p[0] + by, at, problem, (x.index(i) + 1) * space_.n_heads + head);
        if (this->slides()) p[space_.kWidth - 1] += 1;
      } else {
        *p = T(*p + by);
      }
    }
    if (!space_.intercept) return;
    T* p = space_.at(-1, head);
    change<false>(p, p[0] + step, at, problem, head);
    if (kCounted && this->slides()) p[space_.kWidth - 1] += 1;
  }

  void drop(int64_t column, int64_t head, double by, const Ascent& at) {
    journal_.before_changing(space_, column, head);
    T* p = space_.at(column, head);
    T& count = p[space_.kWidth - 1];
    count -= 1;
    // Exactly zero for the last example, whatever rounding lost on the way.
    const double theta = count == 0 ? 0.0 : p[0] - by;
    const int64_t problem = this->alone() ? head : 0;
    column < 0 ? change<false>(p, theta, at, problem, head)
               : change<true>(p, theta, at, problem, (column + 1) * space_.n_heads + head);
  }

  template <bool cut>
  void change(T* p, double theta, const Ascent& at, int64_t problem, int64_t coordinate) {
    if constexpr (kSmoothed) {
      const double before = summed<cut>(p[0], at), size_before = std::fabs(double(p[0]));
      p[0] = T(theta);
      p[1] = T(p[1] + (before - summed<cut>(p[0], at)));
      if (!cut || delta_ == 0) return;
      // A coordinate that has only grown is in there already.
      const double size = std::fabs(double(p[0])), threshold = rule().threshold(at);
      if (size > threshold && (size < size_before || !(size_before > threshold)))
        dual_.crossings.add(problem, {size, coordinate});
    } else {
      p[0] = T(theta);
    }
  }

  // The contribution of theta to the sum of the weights of all earlier rounds, as if it had always been there.
  template <bool cut>
  double summed(double theta, const Ascent& at) const {
    if (!cut || delta_ == 0) return at.reach * theta;
    if (!(std::fabs(theta) > rule().threshold(at))) return 0;
    return at.reach * theta - (theta < 0 ? -delta_ : delta_) * at.since;
  }

  // u takes in the weights that fall under the threshold of the new round.
  [[gnu::noinline]] bool pass_threshold(int64_t problem, const Ascent& at) {
    if (delta_ == 0) return true;
    Crossings& crossings = dual_.crossings;
    if (crossings.crowded(problem, space_.n_slots * space_.n_heads)) find_crossings();
    const double threshold = rule().threshold(at), threshold_before = rule().threshold(before_);
    for (const int64_t coordinate : crossings.take(problem, threshold)) {
      if (coordinate >= space_.n_slots * space_.n_heads) continue;
      T* p = space_.weights + coordinate * space_.kWidth;
      const double theta = p[0], size = std::fabs(theta);
      if (size > threshold) crossings.add(problem, {size, coordinate});
      if (size > threshold || !(size > threshold_before)) continue;
      if (!journal_.reserve(1)) return false;
      journal_.before_changing(space_, coordinate / space_.n_heads - 1, coordinate % space_.n_heads);
      p[1] = T(p[1] + (at.reach * theta - (theta < 0 ? -delta_ : delta_) * at.since));
    }
    return true;
  }

  [[gnu::noinline]] void find_crossings() {
    dual_.crossings.begin(this->n_problems(), space_.n_heads);
    each_weight([&](T* p, int64_t slot, int64_t head) {
      // Coordinates below the threshold leave again in the next round.
      if (slot > 0 && p[0] != 0)
        dual_.crossings.add(this->alone() ? head : 0, {std::fabs(double(p[0])), slot * space_.n_heads + head});
    });
    dual_.crossings.end();
  }

  // -- folding --------------------------------------------------------------------------------------------------------

  template <class F>
  void each_weight(const F& f) {
    each_slot([&](int64_t slot) {
      for (int64_t head = 0; head < space_.n_heads; ++head) f(space_.at(slot - 1, head), slot, head);
    });
  }
  [[gnu::noinline]] void each_slot(FunctionRef<void(int64_t slot)> each_head) {
    const int64_t slot_bytes = space_.n_heads * Space::kWidth * int64_t(sizeof(T));
    KnownSlots& slots = dual_.known_slots;
    if (slots.known()) {
      for (const int64_t slot : slots.all()) each_head(slot);
    } else if (space_.n_slots * slot_bytes < kWide) {
      each_touched_slot(space_, each_head);
    } else {
      slots.begin(space_.n_slots / 256);
      each_touched_slot(space_, [&](int64_t slot) {
        if (!all_zero(space_.at(slot - 1, 0), slot_bytes)) slots.add(slot);
        each_head(slot);
      });
      slots.end();
    }
  }
  // Numbers that have become this small are forgotten, before the arithmetic slows down for them.
  static T without_dust(double number) {
    return std::fabs(number) < double(std::numeric_limits<T>::min()) ? T(0) : T(number);
  }

  // Uses the numbers of the previous round, whose sums `at` still has.
  [[gnu::noinline]] bool fold_growth(int64_t problem, Ascent& at) {
    if (!journal_.before_rewriting_all(space_)) return false;
    const Ascent& before = before_;
    each_weight([&](T* p, int64_t slot, int64_t head) {
      if (!this->of_problem(head, problem)) return;
      if constexpr (kSmoothed) p[1] = T(p[1] + (slot > 0 ? summed<true>(p[0], before) : summed<false>(p[0], before)));
      p[0] = without_dust(p[0] / at.growth);
    });
    task_.memory[problem].bound /= at.growth;
    at.growth = 1, at.reach = 0, at.since = 0;
    if (kSmoothed && delta_ > 0) find_crossings();
    return true;
  }

  [[gnu::noinline]] bool fold_turned(int64_t problem, Ascent& at) {
    if (!journal_.before_rewriting_all(space_)) return false;
    const double by = at.turned;
    each_weight([&](T* p, int64_t, int64_t head) {
      if (this->of_problem(head, problem)) p[1] = without_dust(p[1] / by);
    });
    at.sum /= by, at.since /= by, at.reach /= by, at.turned = 1;
    return true;
  }

  // |x_j| <= |x|, so no theta moves by more than that times the step. The running sum costs nothing; only if it becomes
  // large are the numbers looked at.
  bool grows_safely(Memory& memory, double by) {
    if (!(by < kLargestWeight<T>)) return false;
    memory.bound += by;
    if (memory.bound < kLargestWeight<T>) return true;
    memory.bound = largest_theta() + by;
    return memory.bound < kLargestWeight<T>;
  }
  [[gnu::cold, gnu::noinline]] double largest_theta() {
    double size = 0;
    each_weight([&](T* p, int64_t, int64_t) { size = std::fmax(size, std::fabs(double(p[0]))); });
    return size;
  }

  Round* rounds_;  // one per problem
  const double delta_;
  Buffer<T> theta_;
  Sums look_{};
  Ascent before_;
};

}  // namespace sureline::SURELINE_ISA
