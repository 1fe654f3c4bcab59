// Coordinates of the framework (coordinate_rules.hpp): how a weight follows from the numbers of one feature, and how a
// gradient changes them. Everything is computed in double and stored as T.
#pragma once

#include <limits>

#include "rows/row.hpp"
#include "rules/coordinate_rules.hpp"
#include "spaces/diagonal.hpp"

namespace sureline::SURELINE_ISA {

// cut = false is for the intercept, which no threshold shrinks. size() is compared with the threshold. descend() takes
// the gradient z of the coordinate, or if kSteps the step eta z, whose factor is computed once per row. With in_score
// the weights leave common_scale() out, and the caller multiplies the row's score by it.

template <class T_>
struct Averaged {
  using T = T_;
  static constexpr int kWidth = 1;
  static constexpr bool kSteps = true;
  static double common_scale(const Round& round) { return round.scale; }
  template <bool cut, bool in_score = false>
  static double weight(const T* p, const Round& round) {
    const double u = cut ? soft(p[0], round.threshold) : double(p[0]);
    return in_score ? u : round.scale * u;
  }
  template <bool cut>
  static void descend(T* p, double step, const Round&) {
    p[0] = T(p[0] - step);
  }
  static double size(const T* p) { return std::fabs(double(p[0])); }
  static double largest(const T* p) { return std::fabs(double(p[0])); }
};

template <class T_>
struct Confident {
  using T = T_;
  static constexpr int kWidth = 2;
  static constexpr bool kSteps = true;
  static double common_scale(const Round&) { return 1; }
  template <bool cut, bool in_score = false>
  static double weight(const T* p, const Round& round) {
    const double u = S(p) * p[0];
    return cut ? soft(u, round.threshold) : u;
  }
  template <bool cut>
  static void descend(T* p, double step, const Round&) {
    p[0] = T(p[0] - step);
  }
  // S -= S^2 x^2 / (r + v), which leaves at least the share keep = r / (r + v). Returns the new S. If keep is small
  // (guarded), the difference could round to less than that, or to zero.
  template <bool guarded>
  static double absorb(T* p, double x, double over_r_plus_v, double keep) {
    const double before = S(p), left = 1 - before * x * x * over_r_plus_v;
    T after = T(before * (!guarded || left > keep ? left : keep));
    if (guarded) after = after > kSmallestVariance<T> ? after : kSmallestVariance<T>;
    p[1] = flip_one(after);
    return after;
  }
  static double S(const T* p) { return flip_one(p[1]); }
  static double size(const T* p) { return std::fabs(S(p) * p[0]); }
  static double largest(const T* p) { return std::fabs(double(p[0])); }
};

// sqrt(a^2 + b^2) for a >= 0, and not less than either where the squares underflow.
inline double root_of_squares(double a, double b) {
  const double size = b < 0 ? -b : b, larger = a > size ? a : size, root = std::sqrt(a * a + b * b);
  return root > larger ? root : larger;
}

// Stores q = sqrt(G) rather than G, since weights need q, and more often.
template <class T_, bool proximal>
struct Adaptive {
  using T = T_;
  static constexpr int kWidth = 2;
  static constexpr bool kSteps = false;
  static double common_scale(const Round& round) { return round.scale; }
  template <bool cut, bool in_score = false>
  static double weight(const T* p, const Round& round) {
    const double u = (cut ? soft(p[0], round.threshold) : double(p[0])) / (round.delta + p[1]);
    return in_score ? u : round.scale * u;
  }
  template <bool cut>
  static void descend(T* p, double z, const Round& round) {
    const double q = p[1], larger_q = root_of_squares(q, z);
    const double around = proximal ? (larger_q - q) * weight<cut, true>(p, round) : 0.0;  // sigma w
    p[0] = T(p[0] - z + around);
    p[1] = T(larger_q);
  }
  static double size(const T* p) { return std::fabs(double(p[0])); }
  static double largest(const T* p) { return std::fmax(std::fabs(double(p[0])), p[1]); }
};

// The threshold is the total truncation of all rounds so far, rounded to T. So is the total that a coordinate stores.
// The truncation between two writes of a weight is then right to one unit in the last place of the sum.
template <class T_, bool limited = true>
struct Truncated {
  using T = T_;
  using Unlimited = Truncated<T_, false>;
  static constexpr int kWidth = 2;
  static constexpr bool kSteps = true;
  static double common_scale(const Round&) { return 1; }
  template <bool cut, bool in_score = false>
  static double weight(const T* p, const Round& round) {
    const double w = p[0], owed = round.threshold - p[1];
    return cut ? soft(w, !limited || std::fabs(w) <= round.limit ? owed : 0.0) : w;
  }
  template <bool cut>
  static void descend(T* p, double step, const Round& round) {
    if (step == 0) return;  // so that dense and sparse rows agree
    p[0] = T(weight<cut>(p, round) - step);
    p[1] = T(round.threshold);
  }
  static double largest(const T* p) { return std::fabs(double(p[0])); }
};

template <class T_>
struct AdaptiveTruncated {
  using T = T_;
  static constexpr int kWidth = 3;
  static constexpr bool kSteps = false;
  static double common_scale(const Round&) { return 1; }
  template <bool cut, bool in_score = false>
  static double weight(const T* p, const Round& round) {
    return cut ? soft(p[0], (round.threshold - p[2]) / (round.delta + p[1])) : double(p[0]);
  }
  template <bool cut>
  static void descend(T* p, double z, const Round& round) {
    if (z == 0) return;  // so that dense and sparse rows agree
    const double q = root_of_squares(p[1], z);
    p[0] = T(weight<cut>(p, round) - round.eta * (z / (round.delta + q)));
    p[1] = T(q);
    p[2] = T(round.threshold);
  }
  static double largest(const T* p) { return std::fmax(std::fabs(double(p[0])), p[1]); }
};

// A coordinate of online dual coordinate ascent, whose steps are in ascent.hpp.
template <class T_, int width, bool limited = true>
struct Dual {
  using T = T_;
  using Unlimited = Dual<T_, width, false>;
  static constexpr int kWidth = width;
  static constexpr bool kSmoothed = width == 3, kCounted = width >= 2, kForAllHeads = width >= 2;
  static double common_scale(const Round& round) { return kSmoothed ? 1.0 : round.scale; }
  template <bool cut, bool in_score = false>
  static double weight(const T* p, const Round& round) {
    if constexpr (kSmoothed) {
      const double theta = p[0], size = theta < 0 ? -theta : theta;
      double now = round.scale * theta;
      if (cut && limited) now = size > round.threshold ? now - (theta < 0 ? -round.delta : round.delta) : 0.0;
      return now + round.r * p[1];
    } else {
      const double u = cut && limited ? soft(p[0], round.threshold) : double(p[0]);
      return in_score ? u : round.scale * u;
    }
  }
};

template <class T_>
struct OnSimplex {
  using T = T_;
  static constexpr int kWidth = 2;
  static constexpr bool kForAllHeads = true;
  static double common_scale(const Round&) { return 1; }
  template <bool cut, bool in_score = false>
  static double weight(const T* p, const Round&) {
    return p[0];
  }
};

// Reading and writing the weights of a row. O(nonzeros), whatever the width.
template <class Kind_, bool one_head>
struct Coordinates {
  using Kind = Kind_;
  using T = typename Kind::T;
  static constexpr int kWidth = Kind::kWidth;
  static constexpr bool kAbsorbs = requires { &Kind::template absorb<true>; };
  static constexpr bool kScoresOnTheWay = kAbsorbs && one_head;  // saves a pass over the row
  static constexpr bool kSized = requires { &Kind::size; };
  static constexpr bool kOneHead = one_head, kForAllHeads = [] {
    if constexpr (requires { Kind::kForAllHeads; }) return Kind::kForAllHeads;
    return false;
  }();
  static constexpr bool kLocal = true;  // a row changes the weights of its own columns only
  T* weights;
  int64_t n_slots, n_heads;
  bool intercept;

  T* at(int64_t column, int64_t head) const {
    return one_head ? weights + kWidth * (column + 1) : weights + kWidth * ((column + 1) * n_heads + head);
  }
  double weight(int64_t column, int64_t head, const Round& round) const {
    const T* p = at(column, head);
    return column < 0 ? Kind::template weight<false>(p, round) : Kind::template weight<true>(p, round);
  }

  template <class Row>
  double score(const Row& x, int64_t head, const Round& round) const {
    if constexpr (requires { typename Kind::Unlimited; })
      if (round.limit == std::numeric_limits<double>::infinity())
        return score_as<typename Kind::Unlimited>(x, head, round);
    return score_as<Kind>(x, head, round);
  }
  template <class Row>
  void scores(const Row& x, const View& view, double* f) const {
    if (one_head) {
      f[0] = score(x, 0, view.of(0));
      return;
    }
    for (int64_t head = 0; head < n_heads; ++head)
      f[head] = intercept ? Kind::template weight<false>(at(-1, head), view.of(head)) : 0.0;
    for (int64_t i = 0; i < x.size(); ++i) {
      const T* p = at(x.index(i), 0);
      const double value = x.value(i);
      for (int64_t head = 0; head < n_heads; ++head)
        f[head] += value * Kind::template weight<true>(p + kWidth * head, view.of(head));
    }
  }
  template <class Row>
  double variance(const Row& x, int64_t head) const {
    const double v = sum<double, kLanes<Row>>(x.size(), [&](int64_t i) {
      const double value = x.value(i);
      return value * value * Kind::S(at(x.index(i), head));
    });
    return intercept ? v + Kind::S(at(-1, head)) : v;
  }
  // theta -= eta z for z = slope x.
  template <class Row>
  void descend(const Row& x, int64_t head, double slope, const Round& round) const {
    if constexpr (requires { typename Kind::Unlimited; })
      if (round.limit == std::numeric_limits<double>::infinity())
        return descend_as<typename Kind::Unlimited>(x, head, slope, round);
    descend_as<Kind>(x, head, slope, round);
  }
  // Algorithm 5: A_t = A_{t-1} + diag(x x') / r, in terms of S. Nothing is written if v overflows.
  template <class Row>
  bool absorb(const Row& x, int64_t head, double r) const {
    const double v = variance(x, head), over = 1 / (r + v), keep = r / (r + v);
    if (!(v < 1e300)) return false;
    if (!(v > 0) || !(r < 1e300)) return true;  // S stays
    if (n_heads == 1 && keep > kGuardedBelow)   // as in absorb_and_score, so that the bits are the same
      absorb<false>(x, head, over, keep);
    else
      absorb<true>(x, head, over, keep);
    return true;
  }
  // absorb() and score() of the only head, with one pass less.
  template <class Row>
  bool absorb_and_score(const Row& x, double r, const Round& round, double& f) const
    requires(kAbsorbs && one_head)
  {
    const double v = variance(x, 0), over = 1 / (r + v), keep = r / (r + v);
    if (!(v < 1e300)) return false;
    if (!(v > 0) || !(r < 1e300))  // S stays
      f = score(x, 0, round);
    else
      f = keep > kGuardedBelow ? absorb_and_score<false>(x, over, keep, round.threshold)
                               : absorb_and_score<true>(x, over, keep, round.threshold);
    return true;
  }

 private:
  static constexpr double kGuardedBelow = 1e-3;  // the share of S that is kept

  template <bool guarded, class Row>
  void absorb(const Row& x, int64_t head, double over, double keep) const {
    for (int64_t i = 0; i < x.size(); ++i) Kind::template absorb<guarded>(at(x.index(i), head), x.value(i), over, keep);
    if (intercept) Kind::template absorb<guarded>(at(-1, head), 1, over, keep);
  }
  template <class As, class Row>
  double score_as(const Row& x, int64_t head, const Round& shared) const {
    const Round round = shared;  // a local copy, which writes through T* cannot change
    const double f = sum<double, kLanes<Row>>(x.size(), [&](int64_t i) {
      return double(x.value(i)) * As::template weight<true, true>(at(x.index(i), head), round);
    });
    return As::common_scale(round) * (intercept ? f + As::template weight<false, true>(at(-1, head), round) : f);
  }
  template <class As, class Row>
  void descend_as(const Row& x, int64_t head, double slope, const Round& shared) const {
    const Round round = shared;
    const double factor = As::kSteps ? round.eta * slope : slope;
    for (int64_t i = 0; i < x.size(); ++i) As::template descend<true>(at(x.index(i), head), factor * x.value(i), round);
    if (intercept) As::template descend<false>(at(-1, head), factor, round);
  }
  template <bool guarded, class Row>
  double absorb_and_score(const Row& x, double over, double keep, double threshold) const {
    const auto take = [&](T* p, double value, double cut) {
      return value * soft(Kind::template absorb<guarded>(p, value, over, keep) * p[0], cut);
    };
    const double f =
        sum<double, kLanes<Row>>(x.size(), [&](int64_t i) { return take(at(x.index(i), 0), x.value(i), threshold); });
    return intercept ? f + take(at(-1, 0), 1, 0) : f;
  }
};

}  // namespace sureline::SURELINE_ISA
