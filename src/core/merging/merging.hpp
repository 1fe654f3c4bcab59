// The weights of shards, merged into those of the whole stream. See models/merging.py for the formulas.
#pragma once

#include <cstdint>
#include <span>

#include "loops/kernels.hpp"

namespace sureline {

// How a number of a weight is merged.
enum class Merged {
  mean,
  precision,  // of a variance
  sum,        // of gradients that count once
  root,       // of a sum of squares
  cut,        // the truncation that a weight has had
};

// Of each number of a weight. Without numbers: weights of this shape are not merged one by one.
struct MergedNumbers {
  int n = 0;
  Merged kinds[3] = {};
};

// With `sums` the first number is a sum of gradients that count once.
MergedNumbers merged_numbers(Shape shape, bool sums);

// A shard: the places slot * heads + head of the weights that it changed, ascending, and their numbers.
struct ShardChange {
  std::span<const int64_t> places;
  const void* numbers = nullptr;  // in the scalars of the model, a row for each place
  double share = 1;               // of the stream
  double part = 1;                // what a row of it is counted once
  std::span<const double> cuts;   // for each problem the truncation so far
};

struct MergeTask {
  Model model;  // whose weights are those that the shards began with
  MergedNumbers numbers;
  std::span<const ShardChange> changes;
  const Round* rounds = nullptr;  // for each problem, those of the base
  const Memory* memory = nullptr;
  int64_t n_problems = 1;
};

// Puts the merged numbers in place of those that some shard changed. The places are in range.
template <class T>
void merge_changes(const MergeTask& task);

extern template void merge_changes<float>(const MergeTask& task);
extern template void merge_changes<double>(const MergeTask& task);

}  // namespace sureline
