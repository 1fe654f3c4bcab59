// The framework of sparse online learning: Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its
// applications", Algorithm 2. In round t
//
//     u_t = grad Phi*_t(theta_t),   w_t = soft(u_t, lambda_t),   predict w_t.x_t,   theta_{t+1} = theta_t - eta_t z_t
//
// with z_t the gradient of the loss at w_t. Phi_t is separable in all algorithms here, except SSOL with its full
// matrix. So u, w and theta belong to one coordinate each. A weight is computed when a row asks for it, from the
// coordinate's own numbers and from the Round that all share. No step visits the other weights: lazy truncation is not
// an addition, it is the definition of a weight.
//
//     FSOL      Phi = |w|^2 / 2              u = theta
//     SSOL      Phi = w'A_t w / 2            u = A_t^-1 theta,  A_t = A_{t-1} + x_t x_t' / r, before the prediction
//     RDA       Phi = gamma sqrt(t) |w|^2/2  u = theta / (gamma sqrt(t))
//     Ada-RDA   Phi = w'H_t w / (2 eta)      u = eta theta / H,  H = delta + sqrt(sum of z^2)
//     FTRL      as Ada-RDA, but every step is taken around the weights of its own round
//
// These average: the part that truncation hides stays in theta. The second group removes it, theta_{t+1} =
// soft(theta_t - eta_t z_t, lambda_t), and its weights are theta itself:
//
//     STG       every K-th round, and only where |w| <= theta
//     FOBOS     eta_t = eta / sqrt(t)
//     Ada-FOBOS in units of 1 / H
//
// Since soft(soft(a, b), c) = soft(a, b + c), a coordinate of the second group stores the total truncation at its last
// write. The difference to the total now is still to be applied.
//
// A rule owns hyper-parameters only. For round t it returns what all coordinates share (Round). coordinates.hpp applies
// it to one coordinate.
#pragma once

#include <cmath>
#include <limits>

#include "rules/losses.hpp"
#include "spaces/shape.hpp"

namespace sureline {

// The numbers that all coordinates share in a round. shape.hpp defines which of them a coordinate reads.
struct Round {
  double eta = 1;  // theta -= eta z
  double threshold = 0;
  double scale = 1;
  double delta = 0;
  double limit = std::numeric_limits<double>::infinity();
  double r = 1;    // S absorbs x x' / r
  double cut = 0;  // truncation of this round, in the units of the threshold
};

inline constexpr int kRoundColumns = sizeof(Round) / sizeof(double);  // Python owns them as rows of a float64 array

[[gnu::always_inline]] inline double soft(double a,
                                          double b) {  // without a branch: a less the part of it within [-b, b]
  double inside = a < -b ? -b : a;
  inside = inside > b ? b : inside;
  return a - inside;
}

namespace rules {

enum class Schedule { constant, inverse, linear };  // of lambda_t: constant, over t, times t

inline double scheduled(double lam, Schedule schedule, double t) {
  return schedule == Schedule::constant ? lam : schedule == Schedule::inverse ? lam / t : lam * t;
}

// Algorithm 3, and Algorithm 6 with costs. lambda_t = eta lam is theorem 2's choice.
struct FSOL {
  static constexpr Shape shape = Shape::averaged;
  double eta = 1, lam = 0;
  Schedule schedule = Schedule::constant;
  Round round(double t, double) const { return {.eta = eta, .threshold = scheduled(eta * lam, schedule, t)}; }
  bool fixed() const { return schedule == Schedule::constant; }
};

// Algorithms 4 and 5, and 7 with costs. lambda_t = lam / t is theorem 3's choice.
struct SSOL {
  double eta = 1, lam = 0, r = 1;
  Schedule schedule = Schedule::inverse;
  Shape shape = Shape::confident;  // or confident_full
  Round round(double t, double) const { return {.eta = eta, .threshold = scheduled(lam, schedule, t), .r = r}; }
};

// Xiao, JMLR 2010, with the enhanced threshold for rho > 0. theta is minus the sum of the gradients.
struct RDA {
  static constexpr Shape shape = Shape::averaged;
  double gamma = 1, lam = 0, rho = 0;
  Round round(double t, double) const {
    const double n = t - 1, root_n = std::sqrt(n);  // gradients so far
    return {.threshold = n * lam + gamma * rho * root_n, .scale = n > 0 ? 1 / (gamma * root_n) : 0.0};
  }
};

// Duchi, Hazan & Singer, JMLR 2011, the primal-dual subgradient form. theta is minus the sum of the gradients.
struct AdaRDA {
  static constexpr Shape shape = Shape::adaptive;
  double eta = 1, lam = 0, delta = 1;
  Round round(double t, double) const { return {.threshold = (t - 1) * lam, .scale = eta, .delta = delta}; }
};

// McMahan et al., KDD 2013, Algorithm 1. theta is their -z.
struct FTRL {
  static constexpr Shape shape = Shape::proximal;
  double alpha = 0.1, beta = 1, l1 = 1, l2 = 1;
  Round round(double, double) const { return {.threshold = l1, .scale = alpha, .delta = beta + alpha * l2}; }
  bool fixed() const { return true; }
};

// Langford, Li & Zhang, JMLR 2009.
struct STG {
  static constexpr Shape shape = Shape::truncated;
  double eta = 1, lam = 0, K = 10, theta = std::numeric_limits<double>::infinity();
  Round round(double t, double cut) const {
    return {.eta = eta, .threshold = cut, .limit = theta, .cut = std::fmod(t, K) == 0 ? K * eta * lam : 0.0};
  }
};

// Duchi & Singer, JMLR 2009.
struct FOBOS {
  static constexpr Shape shape = Shape::truncated;
  double eta = 1, lam = 0;
  Round round(double t, double cut) const {
    const double eta_t = eta / std::sqrt(t);
    return {.eta = eta_t, .threshold = cut, .cut = eta_t * lam};
  }
};

// Duchi, Hazan & Singer, JMLR 2011, the composite mirror descent form.
struct AdaFOBOS {
  static constexpr Shape shape = Shape::adaptive_truncated;
  double eta = 1, lam = 0, delta = 1;
  Round round(double, double cut) const { return {.eta = eta, .threshold = cut, .delta = delta, .cut = eta * lam}; }
};

}  // namespace rules

// A coordinate rule behind one indirect call per row.
class CoordinateRule {
 public:
  virtual ~CoordinateRule() = default;
  // The Round of prediction t and of the step after it. `cut` is the total truncation of the rounds before.
  virtual Round round(double t, double cut) const = 0;
  Shape shape = Shape::averaged;
  Loss loss = Loss::hinge;
  bool fixed = false;  // every round is the same
};

template <class R>
class AnyCoordinateRule final : public CoordinateRule {
 public:
  AnyCoordinateRule(const R& rule, Loss loss_) : rule_(rule) {
    shape = rule.shape;
    loss = loss_;
    if constexpr (requires { rule.fixed(); }) fixed = rule.fixed();
  }
  Round round(double t, double cut) const override { return rule_.round(t, cut); }

 private:
  R rule_;
};

}  // namespace sureline
