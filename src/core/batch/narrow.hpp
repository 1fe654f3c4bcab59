// Matrix products of many short rows. BLAS is slow at these, since it packs and splits for large matrices.
//
// Rows have n values, and a last one, 1, if there is an intercept. Values are float or double, products double.
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
inline constexpr int64_t kNarrowLanes = 8;  // rows of the result are padded with zeros to a multiple of this

// G += sum of x x'. Only the upper triangle counts. G has width x width numbers in C order.
// out = rows times W, upper triangular, width x width in C order; out is n_rows x stride, a multiple of kNarrowLanes.
SURELINE_PER_ISA(void add_gram(const NarrowRows&, double* G);
                 void whiten(const NarrowRows&, const double* W, double* out, int64_t stride);)

}  // namespace sureline
