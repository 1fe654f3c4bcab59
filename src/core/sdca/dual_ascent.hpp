// Proximal stochastic dual coordinate ascent with an l1 and a small l2 penalty, for two classes.
//
//   given   rows x_i, y_i in {-1, +1}, s_i >= 0, n = sum s_i, lam >= 0, sigma > 0
//   min_w   P(w) = 1/n sum_i s_i loss(y_i w.x_i) + lam |w|_1 + sigma/2 |w|^2
//   max_a   D(a) = 1/n sum_i (a_i - c_i(a_i)) - 1/(2 sigma) |soft(z, lam)|^2,   z = 1/n sum_i a_i y_i x_i
//
//   hinge          loss max(0, 1 - m):    c_i = 0, and a_i from 0 to s_i
//   squared hinge  loss max(0, 1 - m)^2:  c_i = a_i^2 / (4 s_i), and a_i from 0 on
//
// The weights that belong to z are w = soft(z, lam) / sigma. Slot 0 of z is the intercept, an always-1 feature that lam
// leaves alone; slot j + 1 is column j.
//
// Shalev-Shwartz & Zhang, "Proximal stochastic dual coordinate ascent", 2012, Option I with the bound of the
// sigma-strong convexity.
#pragma once

#include <cstdint>

#include "loops/kernels.hpp"
#include "rules/losses.hpp"

namespace sureline {

struct DualProblem {
  Rows rows;
  const int32_t* labels = nullptr;  // the class of each row
  int32_t positive = 1;             // the class that has y = +1
  const double* sample_weight = nullptr;
  const double* norms = nullptr;  // |x_i|^2, without the intercept
  double n = 0;                   // sum of sample_weight
  double lam = 0;
  double sigma = 1;
  Loss loss = Loss::hinge;  // or squared_hinge
  bool intercept = true;
};

// out[i] = |x_i|^2. Looks at everything that is in the rows: whatever is wrong with them is refused here.
Outcome squared_norms(const Rows& rows, double* out);

// One step for each of the rows that `order` names, or for all in turn if it is null. When a row is refused, alpha and
// z are of no further use.
Outcome ascend(const DualProblem& problem, const int64_t* order, int64_t n_order, double* alpha, double* z);

// P(w) - D(alpha) for the w that belongs to z: an upper bound of how far each of them is from the optimum.
Outcome dual_gap(const DualProblem& problem, const double* alpha, const double* z, double* gap);

// out[i] = weights[0] + sum_j weights[j + 1] x_ij.
Outcome linear_scores(const Rows& rows, const double* weights, double* out);

}  // namespace sureline
