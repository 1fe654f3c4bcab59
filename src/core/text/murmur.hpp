// MurmurHash3_x86_32 (Austin Appleby, public domain): the hash of scikit-learn's FeatureHasher and of Vowpal Wabbit.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sureline::text {

namespace murmur_detail {

inline uint32_t load_four(const char* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap32(word);
  return word;
}

inline uint32_t scramble(uint32_t k) { return std::rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u; }

}  // namespace murmur_detail

// A bijection that mixes 32 bits: the last step of the hash.
inline uint32_t mix32(uint32_t h) {
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

// Of `size` bytes; like the original it knows the size modulo 2^32. Names are short and of any length, so what is left
// after the last four bytes is taken without a jump.
inline uint32_t murmur3(const char* p, size_t size, uint32_t seed) {
  using murmur_detail::load_four, murmur_detail::scramble;
  const auto byte = [p](size_t i) { return uint32_t(static_cast<unsigned char>(p[i])); };
  uint32_t h = seed, rest = 0;
  if (size >= 4) {
    const size_t n_rest = size & 3;
    const char* const last = p + (size - n_rest);
    for (const char* at = p; at != last; at += 4) h = std::rotl(h ^ scramble(load_four(at)), 13) * 5 + 0xe6546b64u;
    rest = static_cast<uint32_t>(uint64_t(load_four(p + size - 4)) >> (8 * (4 - n_rest)));
  } else if (size > 0) {  // the first, the middle and the last byte, which may coincide
    rest = byte(0) | byte(size / 2) << (8 * (size / 2)) | byte(size - 1) << (8 * (size - 1));
  }
  return mix32(h ^ scramble(rest) ^ static_cast<uint32_t>(size));
}

// Maps the full hash of a name to its column and to the sign of its values.
struct Columns {
  enum Kind : uint8_t {
    masked = 0,   // Vowpal Wabbit: the low bits
    hashed = 1,   // FeatureHasher(alternate_sign=False): the hash as a signed number, its magnitude modulo 2^bits
    signed_ = 2,  // FeatureHasher(): the same, and the sign is that of the hash
  } kind = masked;
  int bits = 18;

  static constexpr int kMostBits = 30;  // columns are int32, with one slot more than columns

  int32_t column(uint32_t hash) const {
    // The magnitude of -2^31 is 2^31, like in FeatureHasher; it fits into 32 bits without a sign.
    const uint32_t magnitude = kind != masked && (hash >> 31) ? 0u - hash : hash;
    return static_cast<int32_t>(magnitude & ((1u << bits) - 1));
  }
  int sign(uint32_t hash) const { return kind == signed_ && (hash >> 31) ? -1 : 1; }
  bool operator==(const Columns&) const = default;
};

}  // namespace sureline::text
