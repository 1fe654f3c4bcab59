// Sorts the columns of one row, and adds up duplicates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace sureline {

class ByColumn {
 public:
  // Sorts n columns with their values. Values of the same column are summed in the order in which they came. Returns
  // the number of entries left. `bits` is the number of bits if the columns are hashes, else 0.
  size_t arrange(int32_t* columns, double* values, size_t n, int bits) {
    if (std::is_sorted(columns, columns + n, std::less_equal<>())) return n;  // less_equal: no duplicates
    if (columns_.size() < n) columns_.resize(n), values_.resize(n);
    if (bits > 0 && n > kFew && n < kMany) {
      n <= std::numeric_limits<uint8_t>::max() ? spread<uint8_t>(columns, values, n, bits)
                                               : spread<uint16_t>(columns, values, n, bits);
      if (const size_t left = insert(columns, values, n)) return left;
    } else {
      std::memcpy(columns_.data(), columns, n * sizeof(int32_t));
      std::memcpy(values_.data(), values, n * sizeof(double));
    }
    return sort(columns, values, n);
  }

 private:
  static constexpr size_t kFew = 16, kMany = 1 << 13;

  // Distributes the columns to buckets by their first bits. There are a few times as many buckets as columns. Hashes
  // are uniform, so most buckets get one column or none.
  template <class Count>
  void spread(const int32_t* columns, const double* values, size_t n, int bits) {
    const int wanted = std::min(int(std::bit_width(n)) + 1, bits), shift = bits - wanted;
    alignas(uint64_t) Count starts[2 * std::min(kMany, size_t(std::numeric_limits<Count>::max()) + 1)];
    const size_t n_buckets = size_t(1) << wanted;
    std::memset(starts, 0, n_buckets * sizeof(Count));
    for (size_t i = 0; i < n; ++i) ++starts[columns[i] >> shift];
    counts_to_starts(starts, n_buckets);
    for (size_t i = 0; i < n; ++i) {
      const Count to = starts[columns[i] >> shift]++;
      columns_[to] = columns[i], values_[to] = values[i];
    }
  }

  // Exclusive prefix sums of the counts, a word of them at a time. Multiplied by ones, each count of a word becomes the
  // sum of the counts up to it.
  template <class Count>
  static void counts_to_starts(Count* counts, size_t n) {
    constexpr size_t kLanes = sizeof(uint64_t) / sizeof(Count), kLaneBits = 8 * sizeof(Count);
    constexpr uint64_t kOnes = ~uint64_t(0) / std::numeric_limits<Count>::max();
    uint64_t before = 0;
    if (std::endian::native != std::endian::little || n < kLanes) {
      for (size_t i = 0; i < n; ++i) before += std::exchange(counts[i], Count(before));
      return;
    }
    for (size_t i = 0; i < n; i += kLanes) {
      uint64_t word;
      std::memcpy(&word, counts + i, sizeof(word));
      const uint64_t sums = word * kOnes;
      word = (sums << kLaneBits) + before * kOnes;
      std::memcpy(counts + i, &word, sizeof(word));
      before += sums >> (64 - kLaneBits);
    }
  }

  // Copies the nearly sorted entries back, by insertion. Returns 0 if that would take too long: names may be chosen so
  // that their hashes are not uniform.
  size_t insert(int32_t* columns, double* values, size_t n) const {
    size_t left = 0, moves = 0;
    int32_t last = -1;
    for (size_t i = 0; i < n; ++i) {
      const int32_t column = columns_[i];
      if (column > last) {
        columns[left] = last = column, values[left++] = values_[i];
        continue;
      }
      size_t at = left;
      for (; at > 0 && columns[at - 1] > column; --at) columns[at] = columns[at - 1], values[at] = values[at - 1];
      moves += left - at;
      if (moves > 8 * n) return 0;
      if (at > 0 && columns[at - 1] == column) {
        values[at - 1] += values_[i];
        std::copy(columns + at + 1, columns + left + 1, columns + at);
        std::copy(values + at + 1, values + left + 1, values + at);
      } else {
        columns[at] = column, values[at] = values_[i], ++left;
      }
    }
    return left;
  }

  size_t sort(int32_t* columns, double* values, size_t n) {
    keys_.resize(n);
    for (size_t i = 0; i < n; ++i) keys_[i] = uint64_t(uint32_t(columns_[i])) << 32 | i;
    std::sort(keys_.begin(), keys_.end());
    size_t left = 0;
    for (const uint64_t key : keys_) {
      const int32_t column = int32_t(key >> 32);
      const double value = values_[key & 0xffffffffu];
      if (left && columns[left - 1] == column)
        values[left - 1] += value;
      else
        columns[left] = column, values[left++] = value;
    }
    return left;
  }

  std::vector<int32_t> columns_;
  std::vector<double> values_;
  std::vector<uint64_t> keys_;
};

}  // namespace sureline
