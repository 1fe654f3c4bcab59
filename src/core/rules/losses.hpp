// Names of losses and regularisers, and the slope of a loss of the margin m = y w.x, for gradient descent.
#pragma once

#include <cmath>

namespace sureline {

enum class Loss { hinge, squared_hinge, log, squared, absolute, huber };  // the last three are in dual_step.hpp alone
// R(w) of table I of O-DCA: |w|^2 / 2; delta |w|_1 more; or sum_j w_j ln(w_j) on the simplex.
enum class Regularizer { l2, elastic_net, kl };

inline constexpr bool has_steepness(Loss loss) { return loss <= Loss::log; }

// -l'(m), which is never negative: max(0, 1 - m), its square, or ln(1 + exp(-m)).
[[gnu::always_inline]] inline double steepness(Loss loss, double m) {
  switch (loss) {
    case Loss::hinge:
      return m < 1 ? 1.0 : 0.0;
    case Loss::squared_hinge:
      return m < 1 ? 2 * (1 - m) : 0.0;
    default: {  // 1 / (1 + exp(m)), without an overflow of exp while the quotient is still a number
      const double e = std::exp(m > 0 ? -m : m);
      return (m > 0 ? e : 1.0) / (1 + e);
    }
  }
}

}  // namespace sureline
