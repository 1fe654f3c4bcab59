// Passes over possibly nonzero weights, in time proportional to their number and not to the width.
#pragma once

#include "memory/function_ref.hpp"
#include "memory/mapping.hpp"
#include "rows/row.hpp"

namespace sureline::SURELINE_ISA {

// Memory of this size is mostly pages that nobody has touched yet. One that is read before it is written costs two
// faults, and only one if the first access may write: so does this, which changes nothing.
inline constexpr int64_t kHuge = int64_t(1) << 30;
inline void make_page([[maybe_unused]] void* place) {
#if defined(__x86_64__)
  asm volatile("orb $0, %0" : "+m"(*static_cast<char*>(place)));
#endif
}

// f(begin, end), ascending, for slots outside of which all numbers are zero bytes. Pages that were never written are
// not looked at where the system can tell them, and otherwise are only looked at. Blocks are much smaller than pages:
// of columns far apart each has a page of its own, which is empty but for that.
[[gnu::noinline]] inline void visit_touched_blocks(const void* weights, int64_t n_slots, int64_t slot_bytes,
                                                   FunctionRef<void(int64_t begin, int64_t end)> f) {
  const char* bytes = static_cast<const char*>(weights);
  const int64_t slots = 1 + 255 / slot_bytes;
  int64_t next = 0;  // slot that has not been looked at
  each_touched_range(weights, size_t(n_slots * slot_bytes), [&](size_t first, size_t last) {
    const int64_t stop = (int64_t(last) + slot_bytes - 1) / slot_bytes;
    if (next < int64_t(first) / slot_bytes) next = int64_t(first) / slot_bytes;
    while (next < stop) {
      const int64_t begin = next;
      next = begin + slots < stop ? begin + slots : stop;
      if (!all_zero(bytes + begin * slot_bytes, (next - begin) * slot_bytes)) f(begin, next);
    }
  });
}

template <class Space, class F>
inline void each_touched_block(const Space& space, const F& f) {
  visit_touched_blocks(space.weights, space.n_slots, space.n_heads * Space::kWidth * int64_t(sizeof(typename Space::T)),
                       f);
}

template <class Space, class F>
inline void each_touched_slot(const Space& space, const F& f) {
  each_touched_block(space, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) f(slot);
  });
}

}  // namespace sureline::SURELINE_ISA
