// Online dual coordinate ascent: Ying, Yuan & Sayed, "Online dual coordinate ascent learning". With an example in round
// N
//
//     w'_N = 1 / (rho Delta_N) sum over n of delta_{n,N} lambda(n) h_n,      w_N = grad R*(w'_N),
//
// where lambda(N) is the best there is with the others held (dual_step.hpp), and is held from then on. The windows are
// what an old example still counts: delta_{n,N} = 1 and Delta_N = N; beta^(N - n) and their sum; 1 for the last
// `length` examples and their number.
//
// No round goes over the weights. What is stored of a weight is theta = rho Delta_N g_N w', with the growth g_N =
// beta^-N (1 but for the exponential window): an example adds g_N lambda(N) h_N, and the decay of all others is in the
// scale 1 / (rho Delta_N g_N) alone. When g has become large it is folded into the stored numbers, which forgets what
// has underflown.
//
// grad R* is the identity (l2), soft(., delta) (elastic net), or the point of the simplex that is proportional to
// exp(.) (KL). The intercept has l2 regularisation with all of them.
//
// Smoothing, eq. (27), averages the weights of all rounds: S_N w-bar_N = sum over n of kappa^(N-n) w_n. Since w_n is
// the same function of theta while theta stays, P_N = sum kappa^(N-n) scale_n and C_N = sum kappa^(N-n) are all that a
// weight needs to know of the rounds in between: S w-bar = P theta - sign(theta) delta C + u while |theta| exceeds the
// threshold delta / scale, and u beyond, where u takes in the difference whenever theta changes or falls under the
// threshold. The threshold never falls, so that each weight falls under it once between two changes; Crossings tells
// which do in a round. P theta and u cancel the more, the more g has grown since P began; so with smoothing g is folded
// early, and P and C begin anew with it, when u takes in all there is.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "rules/coordinate_rules.hpp"
#include "sdca/dual_step.hpp"
#include "spaces/shape.hpp"

namespace sureline {

// The scalars of one binary problem. Python sees them as one row of a float64 array, in this order.
struct Ascent {
  double total = 0;   // Delta_N
  double growth = 1;  // g_N
  double turned = 1;  // kappa^-N, and like g_N begun anew now and then
  double sum = 0;     // S_N turned
  double reach = 0;   // P_N turned
  double since = 0;   // C_N turned
  double cut = 0;     // rho delta, while there is smoothing: it cannot change then
  double loss = 0;    // of all targets so far, before they were learned from
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

  // Delta_N and g_N for round N, the next one. N counts those before it too, and `length` is that of the window.
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

  // What the weights after a round are computed with; shape.hpp says how.
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
