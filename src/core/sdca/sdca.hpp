// Stochastic dual coordinate ascent over rows that are all in memory, for two classes.
//
//   given   rows x_i, y_i in {-1, +1}, s_i >= 0, n = sum s_i, rho > 0, a loss, and R of table I
//   min_w   P(w) = 1/n sum_i s_i loss(y_i w.x_i) + rho R(w)
//   max_b   D(b) = -1/n sum_i s_i loss*(-b_i) - rho R*(w'),   w' = 1/(rho n) sum_i s_i b_i y_i x_i
//
// The weights that belong to w' are w = grad R*(w'): w' itself (l2), each entry truncated by delta (elastic net), or
// exp(w') on the simplex (kl). Slot 0 of w' is the intercept, an always-1 feature whose R is that of l2 alone; slot
// j + 1 is column j.
//
// A step moves one dual variable. There are two kinds, each in the variables of its paper:
//
//            duals           v           threshold        w of the elastic net      to the maximum of
//   exact    b_i             w'          delta            soft(v, delta)            D: the problem of dual_step.hpp
//   bound    a_i = s_i b_i   z = rho w'  lam = rho delta  soft(v, lam) / rho        a lower bound of D
//
// R* of l2 and of the elastic net has a 1-Lipschitz gradient, so that n D gains at least
//
//   t - c(a + t) - t m - t^2 |x|^2 / (2 rho n),   c = 0 for a up to s (hinge), or a^2 / (4 s) (squared hinge)
//
// by a change t of one a_i. Its maximum has a closed form, which reads the row once. The exact step reads it several
// times and needs fewer passes. Both take time in proportion to the row's nonzeros; with kl, to the number of columns.
//
// exact    Shalev-Shwartz & Zhang, "Stochastic dual coordinate ascent methods for regularized loss minimization", JMLR
//          2013; eq. (3) of Ying, Yuan & Sayed, "Online dual coordinate ascent learning".
// bound    Shalev-Shwartz & Zhang, "Proximal stochastic dual coordinate ascent", 2012, Option I.
#pragma once

#include <cstdint>

#include "loops/kernels.hpp"
#include "sdca/dual_step.hpp"

namespace sureline {

enum class SdcaStep { exact, bound };

struct SdcaObjective {
  DualLoss loss;  // hinge or squared_hinge for the bound
  double rho = 1;
  Regularizer regularizer = Regularizer::l2;  // not kl for the bound
  double threshold = 0;                       // of the elastic net, otherwise 0
  bool intercept = true;
  SdcaStep step = SdcaStep::exact;

  double scale() const { return step == SdcaStep::bound ? rho : 1; }  // the divisor of v
};

struct SdcaProblem {
  SdcaObjective objective;
  Rows rows;
  const int32_t* labels = nullptr;  // the class of each row
  int32_t positive = 1;             // the class that has y = +1
  const double* sample_weight = nullptr;
  const double* norms = nullptr;  // |x_i|^2, without the intercept
  double n = 0;                   // sum of sample_weight

  double y(int64_t row) const { return labels[row] == positive ? 1 : -1; }
};

// One step for each row in `order`, or for all in turn if it is null. After a refused row, duals and v are invalid.
Outcome ascend(const SdcaProblem& problem, const int64_t* order, int64_t n_order, double* duals, double* v);

// The duality gap P(w) - D, for the w that belongs to v. Neither P nor D is farther than this from the optimum.
Outcome dual_gap(const SdcaProblem& problem, const double* duals, const double* v, double* gap);

}  // namespace sureline
