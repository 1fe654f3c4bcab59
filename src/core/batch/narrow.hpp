// Matrix products of many short rows: what BLAS is slow at, since it packs and splits for large matrices.
//
// Rows have n values, and one more, 1, if there is an intercept: that comes last. float or double, products in double.
#pragma once

#include <cstdint>

#include "loops/isa.hpp"
namespace sureline {

struct NarrowRows {
  const void* values = nullptr;  // n_rows x n
  bool single = false;           // float32, else float64
  int64_t n_rows = 0;
  int64_t n = 0;
  bool intercept = false;
  int64_t width() const { return n + (intercept ? 1 : 0); }
};

inline constexpr int64_t kWidestNarrow = 256;
inline constexpr int64_t kNarrowLanes = 8;  // what the rows of the result are filled up to, with zeros

// G += sum of x x', of which the upper triangle counts; G has width x width numbers in C order.
// out = rows times W, upper triangular, width x width in C order; out is n_rows x stride, a multiple of kNarrowLanes.
SURELINE_PER_ISA(void add_gram(const NarrowRows&, double* G);
                 void whiten(const NarrowRows&, const double* W, double* out, int64_t stride);)

}  // namespace sureline
