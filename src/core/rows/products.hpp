// Sums over rows of any layout and scalar, in double.
#pragma once

#include "loops/kernels.hpp"

namespace sureline {

// out[i] = |x_i|^2. Checks every entry, and refuses rows that are wrong.
Outcome squared_norms(const Rows& rows, double* out);

// out[i] = weights[0] + sum_j weights[j + 1] x_ij.
Outcome linear_scores(const Rows& rows, const double* weights, double* out);

}  // namespace sureline
