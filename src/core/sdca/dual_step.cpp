#include "sdca/dual_step.hpp"

namespace sureline {

namespace {

constexpr double kStepPrecision = 4e-16;
constexpr int kMostSteps = 256;

// a - b; 0 if the difference is within their rounding.
double difference(double a, double b) {
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
double rising_root(double a, double b, double x, const Function& function, int* steps) {
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
    // Newton's step is negligible, or no number is left in between.
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

}  // namespace

double logistic_dual(double m, double A, int* steps) {
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

double best_dual(const DualLoss& loss, double wanted, double m, double slope, double steepest, MarginOfStep margin,
                 int* steps) {
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

}  // namespace sureline
