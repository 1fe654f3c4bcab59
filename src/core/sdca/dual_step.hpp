// One step of dual coordinate ascent: Ying, Yuan & Sayed, "Online dual coordinate ascent learning", eq. (26a), for one
// example with everything else held.
//
// A loss is a function of the margin m = y w.x, or for regression of the score z = w.x and the target; both are here
// the same, since each of these losses but the logistic one is a function of e = 1 - m or e = target - z alone.
// `wanted` is that 1, or that target, and m the margin or the score. The dual variable is b: lambda(N) = y s b for an
// example of weight s (y = 1 in regression), and it is optimal if
//
//     b is in -d loss(m(b)),
//
// with m(b) the margin after the step with b. m(b) does not fall, since R* is convex. With the conjugate of the loss,
// which is loss*(-b) = -wanted b + own(b) for b in the box [low, high] and infinite outside,
//
//     min over b of own(b) - wanted b + (the integral of m),    which falls as long as own'(b) + m(b) < wanted.
//
//                  loss                                own(b)                            box
//   hinge          max(0, e)                           0                                 [0, 1]
//   squared hinge  max(0, e)^2                         b^2 / 4                           [0, infinity)
//   log            ln(1 + exp(-m))                     b + b ln b + (1 - b) ln(1 - b)    [0, 1]
//   squared        e^2 / 2                             b^2 / 2                           everything
//   absolute       |e|                                 0                                 [-1, 1]
//   Huber          e^2 / 2, beyond epsilon straight    b^2 / 2                           [-epsilon, epsilon]
//
// So all but the logistic loss are three numbers: the box, and the curvature q of own(b) = q b^2 / 2.
#pragma once

#include <cmath>
#include <limits>

#include "rules/losses.hpp"

namespace sureline {

struct DualLoss {
  using Kind = Loss;
  Kind kind = Kind::hinge;
  double epsilon = 1;  // of Huber

  double low() const {
    switch (kind) {
      case Kind::squared:
        return -std::numeric_limits<double>::infinity();
      case Kind::absolute:
        return -1;
      case Kind::huber:
        return -epsilon;
      default:
        return 0;
    }
  }
  double high() const {
    switch (kind) {
      case Kind::squared:
      case Kind::squared_hinge:
        return std::numeric_limits<double>::infinity();
      case Kind::huber:
        return epsilon;
      default:
        return 1;
    }
  }
  double q() const {
    switch (kind) {
      case Kind::squared_hinge:
        return 0.5;
      case Kind::squared:
      case Kind::huber:
        return 1;
      default:
        return 0;
    }
  }

  double value(double m, double wanted) const {
    const double e = wanted - m;
    switch (kind) {
      case Kind::hinge:
        return e > 0 ? e : 0.0;
      case Kind::squared_hinge:
        return e > 0 ? e * e : 0.0;
      case Kind::log:
        return m > 0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m;
      case Kind::squared:
        return e * e / 2;
      case Kind::absolute:
        return std::fabs(e);
      default:
        return std::fabs(e) <= epsilon ? e * e / 2 : epsilon * (std::fabs(e) - epsilon / 2);
    }
  }
  // loss*(-b), infinite outside the box.
  double conjugate(double b, double wanted) const {
    if (!(b >= low() && b <= high())) return std::numeric_limits<double>::infinity();
    if (kind == Kind::log) return (b > 0 ? b * std::log(b) : 0.0) + (b < 1 ? (1 - b) * std::log1p(-b) : 0.0);
    return q() * b * b / 2 - wanted * b;
  }
};

// 1 / (1 + exp(u)), whose exp does not overflow.
inline double falling_logistic(double u) {
  const double e = std::exp(u > 0 ? -u : u);
  return (u > 0 ? e : 1.0) / (1 + e);
}

inline constexpr double kStepPrecision = 4e-16;
inline constexpr int kMostSteps = 256;

// a - b, and nothing where that is no more than their rounding.
inline double difference(double a, double b) {
  const double d = a - b;
  return std::fabs(d) <= kStepPrecision * (std::fabs(a) + std::fabs(b)) ? 0.0 : d;
}

// The root of a function that rises, between a and b: it is not positive at a. If it is negative at b too, b is what is
// returned. function(x, next) returns its value at x, and tells where Newton would look next: any number, or none.
//
// His steps start from `x`, and each is taken inside of what is left of [a, b]. Where one leaves it, or three in a row
// have not halved it, the middle is next (or b, once): so in four steps at least one half of the interval is gone, and
// kMostSteps leave less than 2^-63 of it even if Newton never helped. Near a root where the slope is right he doubles
// the digits with every step. `steps`, if there is one, tells how often the function was asked.
template <class Function>
inline double rising_root(double a, double b, double x, const Function& function, int* steps = nullptr) {
  const double nothing = 1e-20 * (b - a);
  double width = b - a;
  bool knows_b = false;
  int waited = 0;
  if (!(x > a)) x = a + (b - a) / 2;
  if (!(x < b)) x = b;
  for (int step = 0; step < kMostSteps; ++step) {
    if (steps) *steps = step + 1;
    double next = 0;
    const double value = function(x, next);
    if (value == 0 || (value < 0 && x == b)) return x;
    knows_b = knows_b || value > 0;
    (value < 0 ? a : b) = x;
    const bool inside = next > a && next < b;
    // Newton has nothing more to add, or there is no number left in between.
    if (std::fabs(next - x) <= kStepPrecision * std::fabs(x)) return inside ? next : x;
    if (b - a <= kStepPrecision * (std::fabs(a) + std::fabs(b)) || b - a <= nothing) return x;
    waited = b - a <= width / 2 ? 0 : waited + 1;
    if (waited == 0) width = b - a;
    if (!inside || waited >= 3) {
      next = !knows_b && next >= b ? b : a + (b - a) / 2;
      waited = 0;
    }
    x = next;
  }
  return x;
}

// The logistic loss where m(b) = m + A b: b = 1 / (1 + exp(m + A b)). Solved for the margin u = m + A b after the step,
// from which u - m - A b(u) rises at least as fast as u itself. 1 - b solves the same problem with -(m + A) for m, so
// that u >= 0 will do; there Newton meets an exponential, and starts near its root, which is a logarithm's logarithm.
inline double logistic_dual(double m, double A, int* steps = nullptr) {
  if (!(A > 0)) return falling_logistic(m);
  const bool mirrored = m + A / 2 < 0;
  if (mirrored) m = -(m + A);
  const double L = std::log(A) - m, start = L > 1 ? std::log(A / L) : m + A * falling_logistic(m);
  const double u = rising_root(
      m > 0 ? m : 0.0, m + A / 2, start,
      [&](double at, double& next) {
        const double b = falling_logistic(at), value = difference(at - m, A * b);
        next = at - value / (1 + A * b * falling_logistic(-at));
        return value;
      },
      steps);
  return falling_logistic(mirrored ? -u : u);
}

// m(b) = m + A b: with l2 regularisation. The closed forms are eqs (37a) and (44) and their like.
inline double best_dual(const DualLoss& loss, double m, double A, double wanted) {
  if (loss.kind == DualLoss::Kind::log) return logistic_dual(m, A);
  const double e = wanted - m, b = e == 0 ? 0.0 : e / (loss.q() + A), low = loss.low(), high = loss.high();
  return b < low ? low : b > high ? high : b;
}

// Any m(b), as margin(b, slope), of which the slope is that of a line that m(b) is near: Newton's step is the best dual
// for that line. m and slope are those of b = 0, and nowhere is m(b) steeper than `steepest`. `steps` counts how often
// the margin was asked.
template <class Margin>
inline double best_dual(const DualLoss& loss, double wanted, double m, double slope, double steepest,
                        const Margin& margin, int* steps = nullptr) {
  if (steps) *steps = 0;
  if (loss.kind == DualLoss::Kind::log)
    return rising_root(
        0, 1, logistic_dual(m, slope),
        [&](double b, double& next) {
          double rise = 0;
          const double after = margin(b, rise);
          next = logistic_dual(after - rise * b, rise);
          return difference(b, falling_logistic(after));
        },
        steps);
  // For e > 0 the best b is from 0 on, otherwise it is up to 0, and the mirrored problem is solved. |b| is at most |e|
  // / q, since m does not fall.
  const double e = wanted - m, q = loss.q(), sign = e > 0 ? 1.0 : -1.0, box = e > 0 ? loss.high() : -loss.low();
  if (e == 0 || box == 0) return 0;
  if ((steepest + q) * box <= std::fabs(e)) return sign * box;
  const double end = q > 0 ? std::fmin(box, std::fabs(e) / q) : box;
  const double b = rising_root(
      0, end, std::fabs(e) / (q + slope),
      [&](double at, double& next) {
        double rise = 0;
        const double value = sign * difference(margin(sign * at, rise) + q * sign * at, wanted);
        next = at - value / (q + rise);
        return value;
      },
      steps);
  return sign * b;
}

template <class Margin>
inline double best_dual(const DualLoss& loss, double wanted, const Margin& margin, int* steps = nullptr) {
  double slope = 0;
  const double m = margin(0.0, slope);
  return best_dual(loss, wanted, m, slope, std::numeric_limits<double>::infinity(), margin, steps);
}

}  // namespace sureline
