// Zeroed memory that costs only the pages that are touched, for models much wider than what a stream has shown of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace sureline {

// Up to this size large pages pay (random access to many small ones is slow). Beyond, a few features far apart must not
// cost two megabytes each.
inline constexpr size_t kLargestWithLargePages = size_t(256) << 20;

inline void* map_zeros(size_t bytes) {
#if defined(MAP_ANONYMOUS)
  // Nothing is reserved: a model may be wider than the memory, as long as what is touched fits.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
  madvise(memory, bytes, bytes <= kLargestWithLargePages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // no more than advice
#endif
  return memory;
#else
  return std::calloc(bytes, 1);
#endif
}

inline void unmap(void* memory, [[maybe_unused]] size_t bytes) {
#if defined(MAP_ANONYMOUS)
  munmap(memory, bytes);
#else
  std::free(memory);
#endif
}

// Copy over zeros, page by page, what is not zero: pages that were never touched stay so on both sides.
inline void copy_touched(char* to, const char* from, size_t bytes) {
  constexpr size_t page = 4096;
  for (size_t begin = 0; begin < bytes; begin += page) {
    const size_t n = bytes - begin < page ? bytes - begin : page;
    const char* p = from + begin;
    uint64_t words[8] = {}, any = 0;
    size_t i = 0;
    for (; i + sizeof words <= n; i += sizeof words) {
      uint64_t more[8];
      std::memcpy(more, p + i, sizeof more);
      for (int k = 0; k < 8; ++k) words[k] |= more[k];
    }
    for (const uint64_t word : words) any |= word;
    for (; i < n; ++i) any |= uint64_t(p[i] != 0);
    if (any != 0) std::memcpy(to + begin, p, n);
  }
}

}  // namespace sureline
