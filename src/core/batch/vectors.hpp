// Vectors of double, as wide as the instruction set has them.
#pragma once

#include "rows/vectors.hpp"

namespace sureline::SURELINE_ISA {

typedef double Vector __attribute__((vector_size(kVectorBytes)));
typedef float Halves __attribute__((vector_size(kVectorBytes / 2)));
constexpr int kLanes = kVectorBytes / 8;

inline Vector load(const double* p) { return load<Vector>(p); }
inline Vector load(const float* p) { return __builtin_convertvector(load<Halves>(p), Vector); }

}  // namespace sureline::SURELINE_ISA
