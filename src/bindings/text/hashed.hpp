// A chunk whose columns are hashes of names, with the names if wanted.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "chunk.hpp"
#include "text/names.hpp"

struct HashedChunk : HeldChunk {
  std::optional<sureline::text::NameTable> names;
};

inline void check_hashing(int64_t bits, int64_t collect_names) {
  if (bits < 1 || bits > sureline::text::Columns::kMostBits)
    throw nanobind::value_error(("bits must be from 1 to 30. Got " + std::to_string(bits) + " instead.").c_str());
  if (collect_names < 0 || collect_names > 1000000)
    throw nanobind::value_error(
        ("collect_names must be from 0 to 1000000. Got " + std::to_string(collect_names) + " instead.").c_str());
}
