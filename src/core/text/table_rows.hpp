// Shared by table.cpp, and kinds.cpp for texts, times and lists.
#pragma once

#include "murmur.hpp"
#include "table.hpp"

namespace sureline::text {

inline constexpr size_t kCounted =
    NameTable::kLongestName + 1;                      // bytes of a name that its count needs: one shows that it is cut
inline constexpr size_t kMostText = size_t{1} << 26;  // bytes of the names of a row

inline uint32_t hash_of(std::string_view name) { return murmur3(name.data(), name.size(), 0); }

}  // namespace sureline::text
