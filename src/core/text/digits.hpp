// Digits, many at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "number.hpp"

namespace sureline::text {

// The last n of eight characters, and n zeros there.
inline constexpr uint64_t kLast[] = {0,
                                     0xFF00000000000000,
                                     0xFFFF000000000000,
                                     0xFFFFFF0000000000,
                                     0xFFFFFFFF00000000,
                                     0xFFFFFFFFFF000000,
                                     0xFFFFFFFFFFFF0000,
                                     0xFFFFFFFFFFFFFF00,
                                     0xFFFFFFFFFFFFFFFF};
inline constexpr uint64_t kLastZeros[] = {0,
                                          0x3000000000000000,
                                          0x3030000000000000,
                                          0x3030300000000000,
                                          0x3030303000000000,
                                          0x3030303030000000,
                                          0x3030303030300000,
                                          0x3030303030303000,
                                          0x3030303030303030};

// The number of characters, of the next sixteen, before a blank, an end of line or another control character.
inline uint64_t find_stop(const char* text) {
  const auto stops = [](uint64_t word) { return (word - 0x2121212121212121) & ~word & 0x8080808080808080; };
  if (const uint64_t first = stops(load_eight(text))) [[likely]]
    return unsigned(std::countr_zero(first)) / 8;
  return 8 + uint64_t(std::countr_zero(stops(load_eight(text + 8)))) / 8;
}

// True if all bytes of both words are values of digits.
inline bool are_digits(uint64_t first, uint64_t second) {
#if defined(__SSE2__)
  const __m128i x = _mm_set_epi64x(int64_t(second), int64_t(first));
  return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(9)), x)) == 0xFFFF;
#else
  constexpr uint64_t six = 0x0606060606060606, high = 0xF0F0F0F0F0F0F0F0;
  return ((first | second | ((first & ~high) + six) | ((second & ~high) + six)) & high) == 0;
#endif
}

// The value of eight and eight digits, computed at once if the machine can.
inline std::pair<int32_t, double> join_two(uint64_t first, uint64_t second) {
#if defined(__SSE2__)
  const __m128i x = _mm_set_epi64x(int64_t(second), int64_t(first));
  const __m128i even = _mm_and_si128(x, _mm_set1_epi16(255)), odd = _mm_srli_epi16(x, 8);
  const __m128i fours = _mm_add_epi32(_mm_madd_epi16(even, _mm_set1_epi32(10 << 16 | 1000)),
                                      _mm_madd_epi16(odd, _mm_set1_epi32(1 << 16 | 100)));
  const __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
  return {_mm_cvtsi128_si32(eights), _mm_cvtsd_f64(_mm_cvtepi32_pd(_mm_srli_epi64(eights, 32)))};
#else
  return {int32_t(join_eight(first)), double(int32_t(join_eight(second)))};
#endif
}

}  // namespace sureline::text
