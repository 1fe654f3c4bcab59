// Passes over all columns of the rows: scores of features, rows reduced to a few columns, predictions.
#include "groups/groups.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "groups/group_rows.hpp"

namespace sureline::groups {

Columns::Columns(const int64_t* columns, const int64_t* positions, int64_t n) {
  int bits = 4, filter_bits = 13;
  while ((int64_t(1) << bits) < 4 * n) ++bits;
  while ((int64_t(1) << filter_bits) < 64 * n && filter_bits < 18) ++filter_bits;  // up to 32 KiB
  slots_.resize(size_t(1) << bits);
  filter_.resize((size_t(1) << filter_bits) / 64);
  mask_ = slots_.size() - 1;
  shift_ = 64 - bits;
  filter_shift_ = 64 - filter_bits;
  for (int64_t i = 0; i < n; ++i) {
    size_t slot = size_t(mixed(columns[i]) >> shift_);
    while (slots_[slot].column >= 0) slot = (slot + 1) & mask_;
    slots_[slot] = {columns[i], positions[i]};
    all_.push_back(slots_[slot]);
    const uint64_t bit = mixed(columns[i]) >> filter_shift_;
    filter_[bit / 64] |= uint64_t(1) << (bit % 64);
  }
}

Outcome add_scores(const Rows& rows, const Batch& batch, const double* alpha, double* s) {
  return with_rows(rows, [&](const auto& any) -> Outcome {
    baseline::OwnRow<typename std::decay_t<decltype(any)>::Row> own;
    for (int64_t i = 0; i < rows.n_rows; ++i) {
      if (batch.C[i] == 0 || alpha[i] == 0) continue;
      auto x = any[i];
      if (own.admit(x, rows, /*often=*/true) == Refusal::memory) return {Refusal::memory, i};
      if (refused(x, rows.n_columns)) return {Refusal::contents, i};
      const double t = batch.C[i] * alpha[i] * batch.sign(i);
      for (int64_t j = 0; j < x.size(); ++j) s[x.index(j)] += t * double(x.value(j));
    }
    return {};
  });
}

std::vector<int64_t> best(const double* scores, int64_t n_columns, int64_t most) {
  // A heap of the best columns so far, the worst of them on top.
  std::vector<int64_t> heap;
  const auto better = [&](int64_t i, int64_t j) { return scores[i] > scores[j] || (scores[i] == scores[j] && i < j); };
  for (int64_t j = 0; j < n_columns && most > 0; ++j) {
    if (!(scores[j] > 0)) continue;
    if (int64_t(heap.size()) < most) {
      heap.push_back(j);
      std::push_heap(heap.begin(), heap.end(), better);
    } else if (scores[j] > scores[heap.front()]) {
      std::pop_heap(heap.begin(), heap.end(), better);
      heap.back() = j;
      std::push_heap(heap.begin(), heap.end(), better);
    }
  }
  std::sort_heap(heap.begin(), heap.end(), better);
  return heap;
}

Outcome score(const Rows& rows, const Columns& columns, const double* weights, const double* intercepts,
              int64_t n_heads, double* out) {
  Found found;
  return with_rows(rows, [&](const auto& any) -> Outcome {
    for (int64_t i = 0; i < rows.n_rows; ++i) {
      const auto x = any[i];
      if (refused(x, rows.n_columns)) return {Refusal::contents, i};
      double* f = out + i * n_heads;
      std::copy_n(intercepts, n_heads, f);
      found.in(x, columns, [&](int64_t p, double value) {
        for (int64_t head = 0; head < n_heads; ++head) f[head] += weights[p * n_heads + head] * value;
      });
      for (int64_t head = 0; head < n_heads; ++head)
        if (!std::isfinite(f[head])) return {Refusal::score, i};
    }
    return {};
  });
}

Outcome variance(const Rows& rows, const Columns& columns, const std::vector<int64_t>& sizes, const double* S,
                 double intercept, double* out) {
  struct Block {
    int64_t begin, size;
    const double* S;
  };
  std::vector<Block> block_of;  // by position
  for (const int64_t size : sizes) {
    block_of.insert(block_of.end(), size_t(size), {int64_t(block_of.size()), size, S});
    S += size * size;
  }
  std::vector<std::pair<int64_t, double>> entries;
  Found found;
  return with_rows(rows, [&](const auto& any) -> Outcome {
    for (int64_t i = 0; i < rows.n_rows; ++i) {
      const auto x = any[i];
      if (refused(x, rows.n_columns)) return {Refusal::contents, i};
      entries.clear();
      found.in(x, columns, [&](int64_t p, double value) { entries.emplace_back(p, value); });
      std::sort(entries.begin(), entries.end());  // brings the entries of a group together
      double v = intercept;
      for (size_t j = 0; j < entries.size();) {
        const Block block = block_of[size_t(entries[j].first)];
        size_t end = j;
        while (end < entries.size() && entries[end].first < block.begin + block.size) ++end;
        for (size_t a = j; a < end; ++a) {
          const double* row = block.S + (entries[a].first - block.begin) * block.size;
          double Sx = 0;
          for (size_t b = j; b < end; ++b) Sx += row[entries[b].first - block.begin] * entries[b].second;
          v += entries[a].second * Sx;
        }
        j = end;
      }
      if (!std::isfinite(v)) return {Refusal::score, i};
      out[i] = std::max(v, 0.0);
    }
    return {};
  });
}

}  // namespace sureline::groups
