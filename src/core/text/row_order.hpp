// Puts hashed columns of a row in order, and sums duplicates.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "chunk.hpp"

namespace sureline::text {

class RowOrder {
 public:
  // Brings what the chunk holds from `first` on into ascending order, and adds up what has the same index, in the order
  // of appearance and in Scalar, which is what FeatureHasher and SciPy do. Zeros that this makes stay. Returns false,
  // and the index in `index`, if a sum is not finite; the row is then to be thrown away.
  template <class Scalar>
  bool arrange(Chunk<Scalar>& chunk, int64_t first, int bits, int32_t& index) {
    int32_t* const indices = chunk.indices.data() + first;
    Scalar* const values = chunk.values.data() + first;
    const size_t n = static_cast<size_t>(chunk.indices.size() - first);
    size_t sorted = 1;
    while (sorted < n && indices[sorted - 1] < indices[sorted]) ++sorted;
    if (sorted >= n) return true;

    keys_.resize(n);
    for (size_t i = 0; i < n; ++i) keys_[i] = uint64_t(uint32_t(indices[i])) << 32 | i;
    sort_keys(bits);
    if constexpr (sizeof(Scalar) == 4) {
      return gather(chunk, first, single_, indices, values, index);
    } else {
      return gather(chunk, first, twofold_, indices, values, index);
    }
  }

 private:
  // Hashes are uniform: as many buckets as keys leave each bucket with about one. Where they are not uniform, the large
  // buckets are sorted on their own.
  void sort_keys(int bits) {
    const size_t n = keys_.size();
    if (n <= 16) return insertion_sort();
    const int wanted = std::min(int(std::bit_width(n)), 16), shift = 32 + std::max(0, bits - wanted);
    const size_t n_buckets = size_t{1} << wanted;
    ends_.assign(n_buckets + 1, 0);
    for (const uint64_t key : keys_) ++ends_[(key >> shift) + 1];
    for (size_t b = 1; b <= n_buckets; ++b) ends_[b] += ends_[b - 1];
    spare_.resize(n);
    for (const uint64_t key : keys_) spare_[ends_[key >> shift]++] = key;
    keys_.swap(spare_);
    constexpr uint32_t kFew = 32;
    uint32_t begin = 0;
    for (size_t b = 0; b < n_buckets; begin = ends_[b++])
      if (ends_[b] - begin > kFew) std::sort(keys_.begin() + begin, keys_.begin() + ends_[b]);
    insertion_sort();
  }

  void insertion_sort() {
    for (size_t i = 1; i < keys_.size(); ++i) {
      const uint64_t key = keys_[i];
      size_t j = i;
      for (; j > 0 && keys_[j - 1] > key; --j) keys_[j] = keys_[j - 1];
      keys_[j] = key;
    }
  }

  template <class Scalar>
  bool gather(Chunk<Scalar>& chunk, int64_t first, std::vector<Scalar>& copy, int32_t* indices, Scalar* values,
              int32_t& index) {
    const size_t n = keys_.size();
    copy.assign(values, values + n);
    size_t written = 0;
    bool finite = true;
    for (size_t i = 0; i < n; ++i) {
      const int32_t column = static_cast<int32_t>(keys_[i] >> 32);
      const Scalar value = copy[keys_[i] & 0xffffffffu];
      if (written && indices[written - 1] == column) {
        values[written - 1] += value;
        if (!std::isfinite(values[written - 1])) finite = false, index = column;
      } else {
        indices[written] = column, values[written] = value;
        ++written;
      }
    }
    chunk.indices.resize(first + int64_t(written));
    chunk.values.resize(first + int64_t(written));
    return finite;
  }

  std::vector<uint64_t> keys_, spare_;
  std::vector<uint32_t> ends_;
  std::vector<float> single_;
  std::vector<double> twofold_;
};

}  // namespace sureline::text
