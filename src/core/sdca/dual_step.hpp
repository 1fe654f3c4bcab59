// One step of dual coordinate ascent: Ying, Yuan & Sayed, "Online dual coordinate ascent learning", eq. (26a), for one
// example with everything else fixed.
//
// A loss is a function of the margin m = y w.x, or for regression of the score z = w.x and the target. Both cases are
// the same here: every loss except the logistic one is a function of e = 1 - m or e = target - z alone. `wanted` is the
// 1 or the target, and m the margin or the score. The dual variable is b, with lambda(N) = y s b for an example of
// weight s (y = 1 in regression). It is optimal if
//
//     b is in -d loss(m(b)),
//
// with m(b) the margin after the step with b. m(b) does not fall, since R* is convex. The conjugate of the loss is
// loss*(-b) = -wanted b + own(b) for b in the box [low, high], and infinite outside. So the step is
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
// So every loss except the logistic one is three numbers: the box, and the curvature q of own(b) = q b^2 / 2.
#pragma once

#include <cmath>
#include <limits>

#include "memory/function_ref.hpp"
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

// 1 / (1 + exp(u)), without an overflow of exp.
inline double falling_logistic(double u) {
  const double e = std::exp(u > 0 ? -u : u);
  return (u > 0 ? e : 1.0) / (1 + e);
}

// The logistic loss where m(b) = m + A b: b = 1 / (1 + exp(m + A b)). Solved for the margin u = m + A b after the step,
// from which u - m - A b(u) rises at least as fast as u itself. 1 - b solves the same problem with -(m + A) for m, so
// that u >= 0 will do; there Newton meets an exponential, and starts near its root, which is a logarithm's logarithm.
double logistic_dual(double m, double A, int* steps = nullptr);

// m(b) = m + A b: with l2 regularisation. The closed forms are eqs (37a) and (44) and their like.
inline double best_dual(const DualLoss& loss, double m, double A, double wanted) {
  if (loss.kind == DualLoss::Kind::log) return logistic_dual(m, A);
  const double e = wanted - m, b = e == 0 ? 0.0 : e / (loss.q() + A), low = loss.low(), high = loss.high();
  return b < low ? low : b > high ? high : b;
}

// m(b), and its slope there.
using MarginOfStep = FunctionRef<double(double b, double& slope)>;

// Any m(b), of which the slope is that of a line that m(b) is near: Newton's step is the best dual for that line. m and
// slope are those of b = 0, and nowhere is m(b) steeper than `steepest`. `steps` counts how often the margin was asked.
double best_dual(const DualLoss& loss, double wanted, double m, double slope, double steepest, MarginOfStep margin,
                 int* steps = nullptr);

inline double best_dual(const DualLoss& loss, double wanted, MarginOfStep margin, int* steps = nullptr) {
  double slope = 0;
  const double m = margin(0.0, slope);
  return best_dual(loss, wanted, m, slope, std::numeric_limits<double>::infinity(), margin, steps);
}

}  // namespace sureline
