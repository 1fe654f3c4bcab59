// Stochastic dual coordinate ascent over rows that are all there, for two classes.
//
//   given   rows x_i, y_i in {-1, +1}, s_i >= 0, n = sum s_i, rho > 0, a loss, and R of table I
//   min_w   P(w) = 1/n sum_i s_i loss(y_i w.x_i) + rho R(w)
//   max_b   D(b) = -1/n sum_i s_i loss*(-b_i) - rho R*(w'),   w' = 1/(rho n) sum_i s_i b_i y_i x_i
//
// The weights that belong to w' are w = grad R*(w'): w' itself (l2), each entry truncated by delta (elastic net), or
// exp(w') on the simplex (kl). A step moves one b_i to where D is greatest: the problem of dual_step.hpp. It costs what
// the row has nonzeros, and with kl what the rows have columns. Slot 0 of w' is the intercept, an always-1 feature
// whose R is that of l2 alone; slot j + 1 is column j.
//
// Shalev-Shwartz & Zhang, "Stochastic dual coordinate ascent methods for regularized loss minimization", JMLR 2013; eq.
// (3) of Ying, Yuan & Sayed, "Online dual coordinate ascent learning".
#pragma once

#include <cstdint>

#include "loops/kernels.hpp"
#include "sdca/dual_step.hpp"

namespace sureline {

struct FiniteDualProblem {
  using Regularizer = sureline::Regularizer;
  Rows rows;
  const int32_t* labels = nullptr;  // the class of each row
  int32_t positive = 1;             // the class that has y = +1
  const double* sample_weight = nullptr;
  const double* norms = nullptr;  // |x_i|^2, without the intercept
  double n = 0;                   // sum of sample_weight
  double rho = 1;
  DualLoss loss;
  Regularizer regularizer = Regularizer::l2;
  double delta = 0;  // of the elastic net
  bool intercept = true;
};

// One step for each of the rows that `order` names, or for all in turn if it is null. When a row is refused, b and
// w_prime are of no further use.
Outcome ascend(const FiniteDualProblem& problem, const int64_t* order, int64_t n_order, double* b, double* w_prime);

// P(w) - D(b) for the w that belongs to w_prime.
Outcome dual_gap(const FiniteDualProblem& problem, const double* b, const double* w_prime, double* gap);

}  // namespace sureline
