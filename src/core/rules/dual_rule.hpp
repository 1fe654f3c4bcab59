// Online dual coordinate ascent: Ying, Yuan & Sayed, "Online dual coordinate ascent learning". With an example in round
// N
//
//     w'_N = 1 / (rho Delta_N) sum over n of delta_{n,N} lambda(n) h_n,      w_N = grad R*(w'_N),
//
// where lambda(N) is optimal with the others fixed (dual_step.hpp), and stays fixed from then on. The window is the
// weight of an old example: delta_{n,N} = 1 and Delta_N = N (infinite); beta^(N - n) and their sum (exponential); 1 for
// the last `length` examples and their number (sliding).
//
// No round goes over all weights. A weight is stored as theta = rho Delta_N g_N w', with the growth g_N = beta^-N (1
// without the exponential window). An example adds g_N lambda(N) h_N. The decay of all others is in the scale
// 1 / (rho Delta_N g_N) alone. When g has become large it is folded into the stored numbers; those that underflow are
// forgotten.
//
// grad R* is the identity (l2), soft(., delta) (elastic net), or the point of the simplex that is proportional to
// exp(.) (KL). The intercept has l2 regularisation with all of them.
//
// Smoothing, eq. (27), averages the weights of all rounds: S_N w-bar_N = sum over n of kappa^(N-n) w_n. w_n is the same
// function of theta until theta changes. So a weight needs two sums over the rounds in between, P_N = sum kappa^(N-n)
// scale_n and C_N = sum kappa^(N-n):
//
//     S w-bar = P theta - sign(theta) delta C + u    where |theta| exceeds the threshold delta / scale, else u.
//
// u absorbs the difference whenever theta changes or falls under the threshold. The threshold never falls, so each
// weight falls under it once between two changes. Crossings tells which weights do so in a round. P theta and u cancel
// more as g grows after P began. So with smoothing g is folded early: u absorbs everything, and P and C begin anew.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "rules/coordinate_rules.hpp"
#include "sdca/dual_step.hpp"
#include "spaces/shape.hpp"

namespace sureline {

// The scalars of one binary problem. Python sees them as a row of a float64 array, in this order.
struct Ascent {
  double total = 0;   // Delta_N
  double growth = 1;  // g_N
  double turned = 1;  // kappa^-N, folded now and then like g_N
  double sum = 0;     // S_N turned
  double reach = 0;   // P_N turned
  double since = 0;   // C_N turned
  double cut = 0;     // rho delta; fixed while there is smoothing
  double loss = 0;    // sum over all targets so far, each before it was learned from
};
inline constexpr int kAscentColumns = sizeof(Ascent) / sizeof(double);

struct DualRule {
  enum class Window { infinite, exponential, sliding };
  using Regularizer = sureline::Regularizer;
  DualLoss loss;
  double rho = 1e-4;
  Window window = Window::infinite;
  double beta = 1;
  Regularizer regularizer = Regularizer::l2;
  double delta = 0;  // of the elastic net, otherwise 0
  double kappa = 0;
  Shape shape = Shape::dual;

  double scale(const Ascent& at) const { return at.total > 0 ? 1 / (rho * at.total * at.growth) : 0.0; }
  double threshold(const Ascent& at) const { return rho * delta * at.total * at.growth; }

  // Delta_N and g_N for the next round N, counted from the first. `length` is that of the window.
  Ascent next(Ascent at, double N, double length) const {
    switch (window) {
      case Window::infinite:
        at.total = N;
        break;
      case Window::exponential:
        at.total = 1 + beta * at.total;
        at.growth /= beta;
        break;
      case Window::sliding:
        at.total = N < length ? N : length;
    }
    return at;
  }

  // The Round that weights are computed with afterwards; shape.hpp says how.
  Round round(const Ascent& at) const {
    const double none = std::numeric_limits<double>::infinity();
    if (shape == Shape::simplex) return {};
    Round round{.threshold = threshold(at), .scale = scale(at), .delta = delta, .limit = delta > 0 ? 0.0 : none};
    if (shape == Shape::dual_smoothed) {
      round.scale = at.sum > 0 ? at.reach / at.sum : 0.0;
      round.r = at.sum > 0 ? 1 / at.sum : 0.0;
      round.delta = delta * (at.since * round.r);
    }
    return round;
  }
};

}  // namespace sureline
