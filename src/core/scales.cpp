#include "scales.hpp"

#include <algorithm>
#include <cmath>

#include "row.hpp"
#include "touched.hpp"

namespace sureline::SURELINE_ISA {

namespace {

// Values at a time: their scales are read one by one and then divided by in whole vectors.
constexpr int kAtOnce = 128;
constexpr int kAhead = 64;  // values further on, whose scales are sent for

template <class V, class T>
class Pass {
 public:
  explicit Pass(Normalizing& n) : n_(n), scales_(static_cast<Scale<T>*>(n.scales)), out_(static_cast<V*>(n.out)) {}

  template <class AllRows>
  Outcome over(const AllRows& rows) {
    const V* const first = static_cast<const V*>(n_.rows.values);
    const int64_t n = n_.order ? n_.n_order : n_.rows.n_rows;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t row = n_.order ? n_.order[k] : k;
      const auto x = rows[row];
      if (const Refusal refusal = x.inspect(n_.rows.n_columns); refusal != Refusal::none) return {refusal, row};
      V* const out = out_ ? out_ + (x.values - first) : nullptr;
      if (n_.sample_weight && n_.sample_weight[row] == 0) {
        if (out) std::copy(x.values, x.values + x.n, out);
        continue;
      }
      if (!std::isfinite(largest_size(x.values, x.n))) return {Refusal::contents, row};
      if (n_.by_row)
        by_length(x, out);
      else if (n_.absorb)
        take_in(x, out, end_of(rows));
      else
        by_scale(x, out, end_of(rows));
    }
    return {};
  }

 private:
  // One sum, so that zeros between the values, which a dense row has, change no bit of it.
  template <class Row>
  static void by_length(const Row& x, V* out) {
    if (!out) return;
    double square = 0, m = 1;
    for (int64_t i = 0; i < x.n; ++i) square += double(x.values[i]) * double(x.values[i]);
    if (!(square > 1e-280 && square < 1e280)) {  // it may have lost digits, or all
      m = largest_size(x.values, x.n), square = 0;
      if (m == 0) m = 1;
      for (int64_t i = 0; i < x.n; ++i) square += (double(x.values[i]) / m) * (double(x.values[i]) / m);
    }
    const double length = square > 0 ? std::sqrt(square) : 1;
    for (int64_t i = 0; i < x.n; ++i) out[i] = V(double(x.values[i]) / m / length);
  }

  template <class Row, class I>
  void take_in(const Row& x, V* out, const I* end) {
    T mean[kAtOnce], count[kAtOnce];
    V value[kAtOnce], quotient[kAtOnce];
    for (int64_t start = 0; start < x.n; start += kAtOnce) {
      const int n = int(std::min<int64_t>(kAtOnce, x.n - start)), whole = in_vectors(n);
      if (is_huge_)
        for (int i = 0; i < n; ++i)
          if (x.values[start + i] != 0) make_page(scales_ + x.index(start + i));
      for (int i = 0; i < n; ++i) {
        if constexpr (!Row::dense) fetch(x, start + i + kAhead, end);
        const Scale<T>& scale = scales_[x.index(start + i)];
        mean[i] = scale.mean, count[i] = scale.count, value[i] = x.values[start + i];
      }
      for (int i = n; i < whole; ++i) mean[i] = 1, count[i] = 1, value[i] = 1;
      if (n_.changes)
        for (int i = 0; i < n; ++i)
          if (value[i] != 0) n_.changes[n_.n_changes++] = {x.index(start + i), double(mean[i]), double(count[i])};
      for (int i = 0; i < whole; ++i) {
        const double a = mean[i];
        count[i] = count[i] + 1;
        mean[i] = T(a + (std::fabs(double(value[i])) - a) / double(count[i]));
        quotient[i] = value[i] != 0 ? V(double(value[i]) / double(mean[i])) : V(0);
      }
      for (int i = 0; i < n; ++i)
        if (value[i] != 0) scales_[x.index(start + i)] = {mean[i], count[i]};
      if (out) std::copy(quotient, quotient + n, out + start);
    }
  }

  template <class Row, class I>
  void by_scale(const Row& x, V* out, const I* end) const {
    if (!out) return;
    double mean[kAtOnce];
    V value[kAtOnce], quotient[kAtOnce];
    for (int64_t start = 0; start < x.n; start += kAtOnce) {
      const int n = int(std::min<int64_t>(kAtOnce, x.n - start)), whole = in_vectors(n);
      for (int i = 0; i < n; ++i) {
        if constexpr (!Row::dense) fetch(x, start + i + kAhead, end);
        const int64_t column = x.index(start + i);
        mean[i] = column < n_.n_scales ? double(scales_[column].mean) : 0.0, value[i] = x.values[start + i];
      }
      for (int i = n; i < whole; ++i) mean[i] = 1, value[i] = 1;
      for (int i = 0; i < whole; ++i) {
        const double a = mean[i] > 0 ? mean[i] : std::fabs(double(value[i]));
        quotient[i] = value[i] != 0 ? V(double(value[i]) / a) : V(0);
      }
      std::copy(quotient, quotient + n, out + start);
    }
  }

  static int in_vectors(int n) { return (n + 15) / 16 * 16; }

  // Columns that have not been looked at yet may be anything, and so the address is no pointer arithmetic.
  template <class Row, class I>
  void fetch(const Row& x, int64_t at, const I* end) const {
    if (at >= end - x.indices) return;
    const uintptr_t first = reinterpret_cast<uintptr_t>(scales_);
    __builtin_prefetch(reinterpret_cast<const void*>(first + uintptr_t(x.indices[at]) * sizeof(Scale<T>)), 0, 2);
  }

  static const int32_t* end_of(const DenseRows<V>&) { return nullptr; }
  template <class I>
  static const I* end_of(const SparseRows<V, I>& rows) {
    return rows.indices + rows.indptr[rows.n_rows];
  }

  Normalizing& n_;
  const bool is_huge_ = n_.n_scales * int64_t(sizeof(Scale<T>)) > kHuge;
  Scale<T>* const scales_;
  V* const out_;
};

}  // namespace

Outcome normalize(Normalizing& n) {
  const auto pass = [&](auto value, auto scale) {
    using V = decltype(value);
    Pass<V, decltype(scale)> turn(n);
    return with_rows<V>(n.rows, [&](const auto& rows) { return turn.over(rows); });
  };
  if (n.single) return n.rows.single ? pass(float(), float()) : pass(double(), float());
  return n.rows.single ? pass(float(), double()) : pass(double(), double());
}

}  // namespace sureline::SURELINE_ISA
