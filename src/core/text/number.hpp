// Decimal numbers, exactly: the double nearest to what is written, ties to even, which is what Python's float() gives.
//
// A number is an optional sign, digits with an optional point before, among or after them, and an optional exponent.
// There are no underscores, no hexadecimal numbers, no nan and no infinity.
#pragma once

#include <locale.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

namespace sureline::text {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Eight characters, the first one in the lowest byte.
inline uint64_t load_eight(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

inline void store_eight(char* p, uint64_t word) {
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  std::memcpy(p, &word, 8);
}

constexpr uint64_t kEightZeros = 0x3030303030303030;  // the characters

// The lowest bit set is in the first byte that is no digit, if there is one. Later bytes may be wrong: a carry reaches
// them.
inline uint64_t find_nondigit(uint64_t word) {
  const uint64_t x = word ^ kEightZeros;
  return ((x + 0x7676767676767676) | x) & 0x8080808080808080;
}

// The value of eight digits, given their values with the first in the lowest byte: joins pairs, then fours, then all.
inline uint64_t join_eight(uint64_t digits) {
  constexpr uint64_t pairs = 0x000000FF000000FF;
  digits = digits * 10 + (digits >> 8);
  return ((digits & pairs) * (100 + (uint64_t{1000000} << 32)) +
          ((digits >> 16) & pairs) * (1 + (uint64_t{10000} << 32))) >>
         32;
}

template <size_t n>
constexpr std::array<uint64_t, n> powers_of(uint64_t base) {
  std::array<uint64_t, n> powers{1};
  for (size_t i = 1; i < n; ++i) powers[i] = powers[i - 1] * base;
  return powers;
}
inline constexpr std::array<uint64_t, 20> kPowersOfTen = powers_of<20>(10);

// powers that are doubles
inline constexpr double kExactPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int64_t kLargestExactPower = 22;
constexpr uint64_t kLargestExactInteger = uint64_t{1} << 53;

// Appends the digits from p on to `number`, which wraps if there are too many. Returns their end.
inline const char* append_digits(const char* p, const char* end, uint64_t& number) {
  for (; end - p >= 8; p += 8) {
    const uint64_t word = load_eight(p), stop = find_nondigit(word);
    if (stop) {
      const int bits = std::countr_zero(stop) & ~7;  // 8 times the number of digits
      if (bits) number = number * kPowersOfTen[bits / 8] + join_eight((word ^ kEightZeros) << (64 - bits));
      return p + bits / 8;
    }
    number = number * kPowersOfTen[8] + join_eight(word ^ kEightZeros);
  }
  for (; p != end && is_digit(*p); ++p) number = number * 10 + uint64_t(*p - '0');
  return p;
}

struct Number {
  enum State { ok, malformed, too_large } state;
  double value;     // finite
  const char* end;  // the first character that does not belong to the number
};

namespace detail {

#if defined(__SIZEOF_INT128__)
// m 10^e for m > 0 and |e| <= 27, since 5^27 has 63 bits: one exact product, or one quotient of integers. 64 bits of it
// are kept, the lowest says whether anything was lost, and then the conversion to double is the only rounding.
constexpr int64_t kLargestWidePower = 27;
inline double scale_exactly(uint64_t m, int e) {
  __extension__ using Wide = unsigned __int128;
  static constexpr std::array<uint64_t, kLargestWidePower + 1> fives = powers_of<kLargestWidePower + 1>(5);
  const int zeros = std::countl_zero(m);
  const uint64_t five = fives[size_t(std::abs(e))];
  Wide wide = Wide(m << zeros);
  uint64_t lost = 0;
  if (e < 0) {
    const Wide dividend = wide << 64;  // of 128 bits, so the quotient has 65 to 126
    wide = dividend / five;
    lost = wide * five != dividend;
  } else {
    wide *= five;  // 64 to 127 bits
  }
  const int surplus = 64 - std::countl_zero(uint64_t(wide >> 64));
  lost |= (uint64_t(wide) & ((uint64_t{1} << surplus) - 1)) != 0;
  const int exponent = surplus + e - zeros - (e < 0 ? 64 : 0);
  return double(uint64_t(wide >> surplus) | lost) * std::bit_cast<double>(uint64_t(1023 + exponent) << 52);
}
#else
constexpr int64_t kLargestWidePower = -1;
inline double scale_exactly(uint64_t, int) { return 0; }
#endif

// The C library's value, independent of the process's locale.
inline double library_value(const char* text) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", locale_t{});
  return strtod_l(text, nullptr, plain);
}

// Any number: the digits from `first` to `last`, a point among them or not, the first of them not 0; the first one
// counts 10^magnitude. It is handed to the library in a short form of the same value: no double and no middle between
// two has more than 767 digits, so after some more it matters only whether one is not 0.
inline Number read_any(const char* first, const char* last, int64_t magnitude) {
  constexpr int kept = 800;
  if (magnitude > 308) return {Number::too_large, 0, last};
  if (magnitude < -330) return {Number::ok, 0, last};
  char text[kept + 16];
  char* to = text;
  *to++ = *first++;
  *to++ = '.';
  for (; first != last && to != text + kept; ++first)
    if (*first != '.') *to++ = *first;
  for (; first != last; ++first)
    if (*first != '.' && *first != '0') {
      *to++ = '1';
      break;
    }
  to += std::snprintf(to, 8, "e%d", int(magnitude));
  double value = 0;
#if defined(__cpp_lib_to_chars)
  const auto [_, error] = std::from_chars(text, to, value);
  if (error != std::errc() && magnitude < 0) value = library_value(text);  // tiny: some libraries refuse even 1e-310
  if (error != std::errc() && magnitude >= 0) return {Number::too_large, 0, last};
#else
  value = library_value(text);
#endif
  if (std::isinf(value)) return {Number::too_large, 0, last};
  return {Number::ok, value, last};
}

}  // namespace detail

// The longest number at the beginning of [begin, end); the caller checks the rest.
inline Number read_number(const char* begin, const char* end) {
  const char* p = begin;
  const bool negative = p != end && *p == '-';
  if (p != end && (*p == '-' || *p == '+')) ++p;
  const char* const digits = p;
  uint64_t mantissa = 0;
  p = append_digits(p, end, mantissa);
  int64_t n_digits = p - digits, n_fraction = 0;
  if (p != end && *p == '.') {
    const char* const fraction = ++p;
    p = append_digits(p, end, mantissa);
    n_fraction = p - fraction;
    n_digits += n_fraction;
  }
  if (n_digits == 0) return {Number::malformed, 0, begin};
  const char* const last = p;

  int64_t exponent = 0;
  if (p != end && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    const bool below = q != end && *q == '-';
    if (q != end && (*q == '-' || *q == '+')) ++q;
    if (q != end && is_digit(*q)) {
      // Saturates at a value that no number of digits can compensate.
      for (; q != end && is_digit(*q); ++q)
        if (exponent < (int64_t{1} << 58)) exponent = exponent * 10 + (*q - '0');
      if (below) exponent = -exponent;
      p = q;
    }
  }
  const int64_t e = exponent - n_fraction;

  if (n_digits <= 19 && mantissa <= kLargestExactInteger && -kLargestExactPower <= e && e <= kLargestExactPower) {
    const double value = e < 0 ? double(mantissa) / kExactPowersOfTen[-e] : double(mantissa) * kExactPowersOfTen[e];
    return {Number::ok, negative ? -value : value, p};
  }
  const char* first = digits;
  for (; first != last && (*first == '0' || *first == '.'); ++first) n_digits -= *first == '0';
  Number number{Number::ok, 0, p};
  if (first == last) {  // zero
  } else if (n_digits <= 19 && -detail::kLargestWidePower <= e && e <= detail::kLargestWidePower) {
    number.value = detail::scale_exactly(mantissa, int(e));
  } else {
    number = detail::read_any(first, last, n_digits - 1 + e);
  }
  return {number.state, negative ? -number.value : number.value, p};
}

}  // namespace sureline::text
