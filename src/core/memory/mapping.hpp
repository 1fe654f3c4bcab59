// Zeroed memory that costs only touched pages, for models far wider than their data so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sureline {

void* map_zeros(size_t bytes);  // null if memory is short
void unmap(void* memory, size_t bytes);

// Calls visit(context, begin, end) for ranges of these bytes, ascending, outside of which all of them are zero: the
// pages that the system says were written, if `memory` is part of what map_zeros gave, and otherwise all. A fault for
// each page of a model of 2^31 columns would take ten seconds. Compiled once: the loops of all instruction sets use it.
void visit_touched(const void* memory, size_t bytes, void (*visit)(void* context, size_t begin, size_t end),
                   void* context);

template <class F>
void each_touched_range(const void* memory, size_t bytes, const F& f) {
  const auto visit = [](void* context, size_t begin, size_t end) { (*static_cast<const F*>(context))(begin, end); };
  visit_touched(memory, bytes, visit, const_cast<F*>(&f));
}

// Copies nonzero pages over zeros; untouched pages stay untouched on both sides.
void copy_touched(void* to, const void* from, size_t bytes);

// Groups of that many bytes with nonzero bytes, ascending; the last one may be shorter.
std::vector<int64_t> nonzero_groups(const void* memory, size_t bytes, size_t group);

}  // namespace sureline
