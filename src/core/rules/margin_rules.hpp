// The margin rules: every learner of the confidence-weighted family as one function of two scalars.
//
// Given the margin m = y w.x and the variance v = x'Sx of an example, a rule returns the coefficients of the step
//
//     w <- kappa w + alpha y S x,      S <- gamma (S - beta (S x)(S x)').
//
// A rule owns hyper-parameters only. It sees neither rows nor weights, so it can be read beside its paper and tested on
// scalars alone. Memory holds what an algorithm remembers between rounds (ROMMA's |w|^2, ALMA's k, IELLIP's c). s is
// the sample weight: the loss counts s times in the objective that the step minimises. c depends on the label: the cost
// of a mistake, or for PAUM the margin that is asked for.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "rules/losses.hpp"

namespace sureline {

struct Step {
  double alpha = 0;
  double beta = 0;
  double u = 0;             // x'Sx after the step, before gamma: v - beta v^2 without its cancellation
  double kappa = 1;         // ROMMA and ALMA rescale the weights
  double gamma = 1;         // IELLIP widens the ellipsoid
  double norm2 = 0;         // |w|^2 after the step, from the rules that track it
  double error_growth = 1;  // factor by which the step magnifies a relative error of norm2
  bool moves() const { return alpha != 0 || beta != 0; }
};

// The scalars of one binary problem that live as long as its weights. Python owns them as one row of a float64 array;
// the order of the members is the order of the columns.
struct Memory {
  double weight_scale = 1;      // w = weight_scale * (the stored numbers), so that kappa costs O(1); SOP's 1 / a
  double covariance_scale = 1;  // S likewise
  double norm2 = 0;             // |w|^2, for the rules that track it; AROWR's sum of squared residuals
  double error_growth = 1;      // bound on the growth of norm2's relative error since it was recomputed
  double k = 1;                 // updates so far, plus one
  double c = 0;                 // IELLIP's c_k; of a regression the sum of the losses
  double t = 0;                 // rounds so far, including the current one
  double cut = 0;               // total truncation by STG, FOBOS and Ada-FOBOS so far; see coordinate_rules.hpp
  double bound = 0;             // no stored weight exceeds it in size
  double resolution = 0;        // relative differences below this are rounding in the state's scalar type
};
inline constexpr int kMemoryColumns = sizeof(Memory) / sizeof(double);

namespace rules {

// A rule can step only if the margin is below one of these. For all other examples no variance is computed.
inline constexpr double kMistake = std::numeric_limits<double>::denorm_min();     // m <= 0
inline constexpr double kHinge = 1;                                               // 1 - m > 0
inline constexpr double kAtMostOne = 1 + std::numeric_limits<double>::epsilon();  // m <= 1
inline constexpr double kAlways = std::numeric_limits<double>::infinity();

// Rosenblatt 1958: on a mistake, w += y x.
struct Perceptron {
  static constexpr bool uses_variance = false;
  double active_below() const { return kMistake; }
  Step step(double, double, double s) const { return {.alpha = s}; }
};

// Crammer et al., JMLR 2006; section 2.2 of Wang, Zhao & Hoi, ICML 2012. v = |x|^2.
struct PA {
  enum class Variant { hard, I, II };
  Variant variant = Variant::I;
  double C = 1;
  double active_below() const { return kHinge; }
  Step step(double m, double v, double s) const {
    if (variant == Variant::II) return {.alpha = (1 - m) / (v + 1 / (2 * s * C))};
    const double tau = (1 - m) / v;
    return {.alpha = variant == Variant::I ? std::fmin(s * C, tau) : tau};
  }
};

// Online gradient descent, Zinkevich, ICML 2003: w -= eta_t (gradient), eta_t = eta / t^p. With costs it is CS-OGD
// (Wang, Zhao & Hoi, ICDM 2012), where c multiplies the loss or takes the place of the 1 in the hinge.
// Deviates: CS-OGD has p = 1/2 by default, where the paper has a constant rate, p = 0.
struct OGD {
  static constexpr bool uses_variance = false, uses_label = true;
  enum class Form { slope, margin };
  double eta = 1, p = 0.5;
  Loss loss = Loss::hinge;
  Form form = Form::slope;
  double active_below() const { return loss == Loss::log || form == Form::margin ? kAlways : kHinge; }
  Step step(double m, double, double s, double c, const Memory& memory) const {
    const double eta_t = eta / (p == 0.5 ? std::sqrt(memory.t) : std::pow(memory.t, p));
    if (form == Form::margin) return {.alpha = s * eta_t * steepness(loss, m - c + 1)};
    return {.alpha = s * c * eta_t * steepness(loss, m)};
  }
};

// Cost-sensitive passive-aggressive learning, prediction based (Crammer et al., JMLR 2006, section 8): on a mistake,
// the margin asked for is sqrt(c). v = |x|^2.
// Deviates: f = 0 predicts the negative class, and a step is made there for both labels.
struct CPA {
  static constexpr bool uses_label = true;
  double C = 1;
  double active_below() const { return kMistake; }
  Step step(double m, double v, double s, double c, const Memory&) const {
    return {.alpha = std::fmin(s * C, (std::sqrt(c) - m) / v)};
  }
};

// The Perceptron with uneven margins, Li et al., ICML 2002: w += eta y x unless the margin exceeds that of the label.
struct PAUM {
  static constexpr bool uses_variance = false, uses_label = true;
  double eta = 1;
  double active_below() const { return kAlways; }
  Step step(double m, double, double s, double c, const Memory&) const { return {.alpha = m <= c ? s * eta : 0.0}; }
};

// Li & Long, Machine Learning 2002: the smallest w with y w.x >= 1 and w.w_t >= |w_t|^2.
// Deviates: |w| is capped at 1e30. On data that no w separates it grows without limit. From about 1e16 on, decisions
// depend on the direction of w alone.
struct ROMMA {
  static constexpr bool tracks_norm = true;
  static constexpr double kLargestNorm = 1e30;
  bool aggressive = false;
  double active_below() const { return aggressive ? kHinge : kMistake; }
  Step step(double m, double v, double, const Memory& memory) const {
    const double n = memory.norm2;
    if (n == 0) return {.alpha = 1 / v, .norm2 = 1 / v};
    if (aggressive && v * n <= m)
      return {.alpha = 1 / v, .kappa = 0, .norm2 = 1 / v};  // the older constraint is implied
    const double D = v * n - m * m;
    if (D <= memory.resolution * v * n) return {};  // x is parallel to w: the two constraints contradict
    Step step{.alpha = n * (1 - m) / D, .kappa = (v * n - m) / D};
    // Both constraints hold with equality after the step: y w.x = 1 and w.w_t = |w_t|^2. So |w|^2 is a sum of positive
    // terms. Expanding the square would cancel as |w| grows.
    step.norm2 = step.kappa * n + step.alpha;
    step.error_growth = v * n / D;
    const double excess = std::sqrt(step.norm2) / kLargestNorm;
    if (excess > 1) {
      step.alpha /= excess;
      step.kappa /= excess;
      step.norm2 = kLargestNorm * kLargestNorm;
    }
    return step;
  }
};

// Gentile, JMLR 2001, p = 2, on x / |x|: k-th update where the margin is at most (1 - alpha) B / sqrt(k), then back
// into the unit ball.
struct ALMA {
  static constexpr bool needs_variance = true, tracks_norm = true;
  double alpha = 0.9, B = 1 / 0.9, C = 1.4142135623730951;
  double active_below() const { return kAlways; }
  Step step(double m, double v, double s, const Memory& memory) const {
    const double length = std::sqrt(v), root_k = std::sqrt(memory.k);
    if (m / length > (1 - alpha) * B / root_k) return {};
    const double a = s * C / (root_k * length);
    const double norm2 = memory.norm2 + 2 * a * m + a * a * v;
    const double kappa = norm2 > 1 ? 1 / std::sqrt(norm2) : 1.0;
    return {.alpha = kappa * a, .kappa = kappa, .norm2 = norm2 > 1 ? 1.0 : norm2};
  }
};

// Wang, Zhao, Hoi & Jin, IEEE TKDE 2014, Algorithm 2, all but its truncation, which is a Selection (top_features.hpp):
// a gradient step of the hinge loss and of lam |w|^2 / 2 where m <= 1, then back into the ball of radius 1 / sqrt(lam).
// Every round shrinks w by `decay`, with or without a step. v = |x|^2. The sum of squares can cancel only where it is
// too small for the ball to matter. So |w|^2 is accurate relative to 1 / lam, which is enough.
struct FOFS {
  static constexpr bool tracks_norm = true;
  double eta = 0.2, lam = 0.01;
  double active_below() const { return kAtMostOne; }
  double decay() const { return 1 - lam * eta; }
  Step step(double m, double v, double s, const Memory& memory) const {
    const double kappa = decay(), a = s * eta;
    const double norm2 = std::fmax(0.0, kappa * kappa * memory.norm2 + 2 * kappa * a * m + a * a * v);
    const double excess = std::sqrt(lam) * std::sqrt(norm2);
    if (!(excess > 1) || std::isinf(norm2)) return {.alpha = a, .kappa = kappa, .norm2 = norm2};
    return {.alpha = a / excess, .kappa = kappa / excess, .norm2 = 1 / lam};
  }
};

// Cesa-Bianchi, Conconi & Gentile, SIAM J. Comput. 2005. The state is theta, the weights are S theta, and alpha is
// the step of theta: on a mistake theta += y x and S absorbs x. Python sets S_0 = I / a.
// Deviates: with a full covariance the loop keeps w = S theta instead of theta. Where theta cancels to exactly zero, w
// is zero only up to rounding, and a score of 0 may come out with a sign.
struct SOP {
  static constexpr bool steps_theta = true;
  double active_below() const { return kMistake; }
  Step step(double, double v, double s) const {
    const double beta = s / (1 + s * v);
    return {.alpha = s, .beta = beta, .u = v / (1 + s * v)};
  }
};

// Yang, Jin & Ye, ICML 2009: the ellipsoid method; c shrinks by the factor b with every update.
struct IELLIP {
  double b = 0.3, c = 0.1;
  double active_below() const { return kMistake; }
  Step step(double m, double v, double, const Memory& memory) const {
    return {.alpha = (1 - m) / v, .beta = memory.c / v, .u = v * (1 - memory.c), .gamma = 1 / (1 - memory.c)};
  }
  void remember(Memory& memory) const { memory.c *= b; }
};

// Crammer, Kulesza & Dredze, NIPS 2009, eqs 9-10.
struct AROW {
  double r = 1;
  double active_below() const { return kHinge; }
  Step step(double m, double v, double s) const {
    const double beta = 1 / (v + r / s);
    return {.alpha = (1 - m) * beta, .beta = beta, .u = v * (r / s) * beta};
  }
};

// AROW for regression, Vaits & Crammer, ALT 2011: least squares along the stream. m is the prediction, y is 1, and c
// the target. A residual has r + v s times the variance that it would have under the right weights, over r; the memory
// has the sum of their squares without that factor.
struct AROWR {
  static constexpr bool needs_variance = true, uses_label = true, regresses = true;
  double r = 1;
  double active_below() const { return kAlways; }
  Step step(double f, double v, double s, double target, const Memory& memory) const {
    const double beta = 1 / (v + r / s), e = target - f;
    return {.alpha = e * beta, .beta = beta, .u = v * (r / s) * beta, .norm2 = memory.norm2 + e * e * r * beta};
  }
};

// Orabona & Crammer, NIPS 2010: AROW with an r that depends on the variance of the example.
struct NAROW {
  double b = 1;
  double active_below() const { return kHinge; }
  Step step(double m, double v, double s) const {
    if (!(b * v > 1)) return {};  // r is infinite
    return AROW{v / (b * v - 1)}.step(m, v, s);
  }
};

// Crammer & Lee, NIPS 2010 (the exact covariance).
struct NHERD {
  double C = 1;
  double active_below() const { return kHinge; }
  Step step(double m, double v, double s) const {
    const double t = s * C * v;
    return {.alpha = (1 - m) / (v + 1 / (s * C)),
            .beta = s * C * ((t + 2) / (1 + t)) / (1 + t),
            .u = v / (1 + t) / (1 + t)};
  }
};

// Wang, Zhao & Hoi, ICML 2012, propositions 1 and 2, and CW (Crammer, Dredze & Pereira, NIPS 2008), which is SCW-I with
// C = infinity. Written in mu = m / sqrt(v) and a = alpha sqrt(v), where every term is of order one. The published
// formulas overflow or cancel for rows that are very long, very short or almost correct.
struct SCW {
  static constexpr bool needs_variance = true;
  enum class Variant { I, II };
  Variant variant = Variant::I;
  double C = 1;
  double phi = 0.6744897501960817;
  double active_below() const { return kAlways; }
  Step step(double m, double v, double s) const {
    const double root_v = std::sqrt(v), mu = m / root_v;
    if (!(phi > mu)) return {};
    double a = variant == Variant::I ? std::fmin(s * C * root_v, a_tight(mu, 1)) : a_tight(mu, 1 + 1 / (2 * s * C * v));
    if (a == 0) return {};
    const double q = 2 / (a * phi + std::sqrt(a * a * phi * phi + 4));  // sqrt(u / v)
    return {.alpha = a / root_v, .beta = a * phi / (v * (q + a * phi)), .u = v * q * q};
  }

 private:
  // The root a of phi sqrt(u) - mu - n a = 0 (in units of sqrt(v)): the constraint is tight for n = 1 (CW, SCW-I);
  // n = 1 + 1/(2 C v) is proposition 2. Each branch adds numbers of one sign.
  double a_tight(double mu, double n) const {
    const double p = phi * phi;
    const double linear = std::fabs(mu) * (2 + p / n);
    const double root = phi * std::sqrt(p * (mu / n) * (mu / n) + 4 * (1 + p / n));
    if (mu > 0) return 2 * (p - mu * mu) / (n * (root + linear));
    return (linear + root) / (2 * (n + p));
  }
};

}  // namespace rules

// A rule behind one indirect call per row. The call costs a few per cent of a sparse row, and saves compiling every
// loop once per rule.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual Step step(double m, double v, double s, double c, const Memory& memory) const = 0;
  virtual void remember(Memory&) const {}  // after a step was taken
  bool active(double m) const { return m < active_below; }
  double active_below = rules::kAlways;
  bool uses_variance = true;    // step() reads v; otherwise it gets a number that is 0 only for rows of zeros
  bool needs_variance = false;  // the decision to step depends on v
  bool steps_theta = false;     // alpha steps theta, where w = S theta
  bool tracks_norm = false;     // step() reads memory.norm2
  bool uses_label = false;      // step() reads c
  bool regresses = false;       // c is a target, not a value of the label
  double decay = 1;             // factor on the weights in a round without a step
};

template <class R>
class AnyRule final : public Rule {
 public:
  explicit AnyRule(const R& rule) : rule_(rule) {
    active_below = rule.active_below();
    if constexpr (requires { R::uses_variance; }) uses_variance = R::uses_variance;
    if constexpr (requires { R::needs_variance; }) needs_variance = R::needs_variance;
    if constexpr (requires { R::steps_theta; }) steps_theta = R::steps_theta;
    if constexpr (requires { R::tracks_norm; }) tracks_norm = R::tracks_norm;
    if constexpr (requires { R::uses_label; }) uses_label = R::uses_label;
    if constexpr (requires { R::regresses; }) regresses = R::regresses;
    if constexpr (requires { rule.decay(); }) decay = rule.decay();
  }
  Step step(double m, double v, double s, double c, const Memory& memory) const override {
    if constexpr (requires { rule_.step(m, v, s, c, memory); })
      return rule_.step(m, v, s, c, memory);
    else if constexpr (requires { rule_.step(m, v, s, memory); })
      return rule_.step(m, v, s, memory);
    else
      return rule_.step(m, v, s);
  }
  void remember(Memory& memory) const override {
    if constexpr (requires { rule_.remember(memory); }) rule_.remember(memory);
  }

 private:
  R rule_;
};

}  // namespace sureline
