// The rows of a batch, reduced to the selected columns.
#pragma once

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "groups/group_rows.hpp"
#include "groups/groups.hpp"
#include "memory/buffer.hpp"

namespace sureline::groups {

inline int64_t padded(int64_t n) { return (n + kPad - 1) / kPad * kPad; }

template <class T>
using Buffer = baseline::Buffer<T>;

template <class T>
void resize(Buffer<T>& buffer, int64_t n) {
  if (!buffer.resize(n)) throw std::bad_alloc();
}

template <class T>
struct SelectedRows {
  int64_t n_rows, n_ready = 0;                // groups that have their covariance
  std::vector<int64_t> sizes, offsets = {0};  // of the groups; the last offset is where the next group would start
  Buffer<int64_t> starts;                     // of the rows, in the next two
  Buffer<int32_t> positions;                  // ascending in a row
  Buffer<T> values;
  std::vector<int32_t> group_of;  // by position / kPad
  std::vector<double> S, norm2;   // covariances, and x'S x of each row over all groups
  std::vector<int64_t> blocks;    // where the groups begin in S

  explicit SelectedRows(int64_t n) : n_rows(n), norm2(size_t(n)) {
    resize(starts, n + 1);
    std::fill_n(starts.data(), n + 1, 0);
    resize(positions, 0);
    resize(values, 0);
  }
  int64_t n_groups() const { return int64_t(sizes.size()); }
  int64_t size(int64_t group) const { return sizes[size_t(group)]; }
  int64_t nbytes() const { return (starts.size() + n_rows + int64_t(S.size())) * 8 + positions.size() * kEntry; }

  // Adds groups with these numbers of columns: see Selection::add_groups.
  Outcome add_groups(const Rows& rows, const double* C, const std::vector<int64_t>& columns,
                     const std::vector<int64_t>& new_sizes, int64_t most_bytes) {
    std::vector<int64_t> places;
    int64_t offset = offsets.back(), for_covariances = 0;
    for (const int64_t size : new_sizes) {
      for (int64_t i = 0; i < size; ++i) places.push_back(offset + i);
      offset += padded(size);
      for_covariances += padded(size) * size * int64_t(sizeof(double));
    }
    if (offset > INT32_MAX) return {Refusal::memory, -1};
    const Columns table(columns.data(), places.data(), int64_t(columns.size()));
    const int64_t most_entries = (most_bytes - nbytes() - for_covariances) / kEntry;
    New more{std::vector<int32_t>(static_cast<size_t>(n_rows)), {}, {}};
    const Outcome outcome = baseline::with_rows<T>(
        rows, [&](const auto& any) { return extract(any, rows.n_columns, C, table, most_entries, more); });
    if (outcome.refusal != Refusal::none) return outcome;
    merge(more);
    for (const int64_t size : new_sizes) {
      sizes.push_back(size);
      offsets.push_back(offsets.back() + padded(size));
      group_of.resize(size_t(offsets.back() / kPad), int32_t(n_groups() - 1));
    }
    return {};
  }

  // sum_i weight_i x_i x_i' of the columns of a group, row by row.
  void gram(int64_t group, const double* weight, double* G) const {
    const int64_t n = size(group), offset = offsets[size_t(group)];
    std::fill_n(G, n * n, 0.0);
    for (int64_t i = 0; i < n_rows; ++i) {
      if (weight[i] == 0) continue;
      const auto [begin, end] = entries(i, group);
      for (int64_t a = begin; a < end; ++a) {
        const double t = weight[i] * double(values[a]);
        double* row = G + (positions[a] - offset) * n;
        if (end - begin == n)
          for (int64_t b = 0; b <= a - begin; ++b) row[b] += t * double(values[begin + b]);
        else
          for (int64_t b = begin; b <= a; ++b) row[positions[b] - offset] += t * double(values[b]);
      }
    }
    for (int64_t a = 0; a < n; ++a)
      for (int64_t b = 0; b < a; ++b) G[b * n + a] = G[a * n + b];
  }

  // Sets the covariance of the next group; null is the identity.
  void set_covariance(const double* S_k) {
    const int64_t group = n_ready++, n = size(group), ld = padded(n), offset = offsets[size_t(group)];
    if (S_k) {
      blocks.push_back(int64_t(S.size()));
      S.resize(S.size() + size_t(n * ld));
      for (int64_t a = 0; a < n; ++a) std::copy_n(S_k + a * n, n, S.data() + blocks.back() + a * ld);
    }
    for (int64_t i = 0; i < n_rows; ++i) {
      const auto [begin, end] = entries(i, group);
      double v = 0;
      for (int64_t a = begin; a < end; ++a) {
        double Sx = double(values[a]);
        if (S_k) {
          const double* row = S_k + (positions[a] - offset) * n;
          Sx = 0;
          for (int64_t b = begin; b < end; ++b) Sx += row[positions[b] - offset] * double(values[b]);
        }
        v += double(values[a]) * Sx;
      }
      norm2[size_t(i)] += std::max(v, 0.0);  // rounding may make it negative if columns are copies of each other
    }
  }

 private:
  static constexpr int64_t kEntry = int64_t(sizeof(int32_t) + sizeof(T));

  // New entries: their number in each row, then the entries row by row.
  struct New {
    std::vector<int32_t> counts, positions;
    std::vector<T> values;
  };

  template <class AnyRows>
  Outcome extract(const AnyRows& any, int64_t n_columns, const double* C, const Columns& table, int64_t most_entries,
                  New& more) const {
    std::vector<std::pair<int32_t, T>> of_row;
    Found found;
    for (int64_t i = 0; i < n_rows; ++i) {
      if (C[i] == 0) continue;
      const auto x = any[i];
      if (x.inspect(n_columns) == Refusal::contents) return {Refusal::contents, i};
      of_row.clear();
      found.in(x, table, [&](int64_t p, T value) {
        if (value != 0) of_row.emplace_back(int32_t(p), value);
      });
      // Sorted by position, which joins the entries of a group. A single group with ascending columns is sorted
      // already.
      const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
      if (!std::is_sorted(of_row.begin(), of_row.end(), before)) std::sort(of_row.begin(), of_row.end(), before);
      const size_t begin = more.positions.size();
      for (const auto& [position, value] : of_row) {
        if (more.positions.size() > begin && more.positions.back() == position) {  // a duplicate column
          more.values.back() += value;
          continue;
        }
        more.positions.push_back(position);
        more.values.push_back(value);
      }
      more.counts[size_t(i)] = int32_t(more.positions.size() - begin);
      if (int64_t(more.positions.size()) > most_entries) return {Refusal::memory, -1};
    }
    return most_entries < 0 ? Outcome{Refusal::memory, -1} : Outcome{};
  }

  // Appends the new entries to each row in place, from the last row on.
  void merge(const New& more) {
    int64_t from = int64_t(more.positions.size()), to = positions.size() + from;
    resize(positions, to);
    resize(values, to);
    for (int64_t i = n_rows - 1; i >= 0; --i) {
      const int64_t begin = starts[i], n_old = starts[i + 1] - begin, n_new = more.counts[size_t(i)];
      starts[i + 1] = to;
      from -= n_new, to -= n_new;
      std::copy_n(more.positions.data() + from, n_new, positions.data() + to);
      std::copy_n(more.values.data() + from, n_new, values.data() + to);
      to -= n_old;
      std::copy_backward(positions.data() + begin, positions.data() + begin + n_old, positions.data() + to + n_old);
      std::copy_backward(values.data() + begin, values.data() + begin + n_old, values.data() + to + n_old);
    }
  }

  struct Range {
    int64_t begin, end;
  };
  Range entries(int64_t row, int64_t group) const {
    const int32_t* first = positions.data() + starts[row];
    const int32_t* last = positions.data() + starts[row + 1];
    if (group < n_groups() - 1) last = std::lower_bound(first, last, int32_t(offsets[size_t(group) + 1]));
    if (group > 0) first = std::lower_bound(first, last, int32_t(offsets[size_t(group)]));
    return {first - positions.data(), last - positions.data()};
  }
};

}  // namespace sureline::groups
