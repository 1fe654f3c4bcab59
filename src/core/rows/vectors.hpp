// Vectors of double, as wide as the instruction set has them.
#pragma once

#include <cstring>

namespace sureline::SURELINE_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
typedef double Vector __attribute__((vector_size(kVectorBytes)));
typedef float Halves __attribute__((vector_size(kVectorBytes / 2)));
constexpr int kLanes = kVectorBytes / 8;

inline Vector load(const double* p) {
  Vector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline Vector load(const float* p) {
  Halves v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, Vector);
}

}  // namespace sureline::SURELINE_ISA
