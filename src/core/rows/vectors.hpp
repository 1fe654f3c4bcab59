// The width of the vectors of the instruction set, and how one is read and written.
#pragma once

namespace sureline::SURELINE_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class V>
inline V load(const void* p) {
  V vector;
  __builtin_memcpy(&vector, p, sizeof vector);
  return vector;
}

template <class V>
[[gnu::always_inline]] inline void store(void* p, const V& vector) {
  __builtin_memcpy(p, &vector, sizeof vector);
}

}  // namespace sureline::SURELINE_ISA
