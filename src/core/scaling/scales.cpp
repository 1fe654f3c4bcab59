#include "scaling/scales.hpp"

#include <algorithm>
#include <cmath>

#include "memory/touched.hpp"
#include "rows/packs.hpp"

namespace sureline::SURELINE_ISA {

namespace {

template <class V, class T>
class Pass {
 public:
  explicit Pass(Normalizing& n) : n_(n), scales_(static_cast<T*>(n.scales)), out_(static_cast<V*>(n.out)) {}

  template <class AllRows>
  Outcome over(const AllRows& rows) {
    const V* const first = static_cast<const V*>(n_.rows.values);
    const int64_t n = n_.order ? n_.n_order : n_.rows.n_rows;
    const int64_t bytes = n_.n_scales * int64_t(sizeof(Scale<T>));
    const bool sparse = n_.rows.layout != Rows::Layout::dense;
    // Worth it only where the scales do not stay in the nearer caches.
    const bool ahead = sparse && !n_.by_row && bytes > (1 << 20), huge = sparse && bytes > kHuge;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t row = row_at(k);
      const auto x = rows[row];
      if (ahead && k + kRowsAhead < n) fetch(rows[row_at(k + kRowsAhead)]);
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
        take_in(x, out, huge);
      else if (out)
        by_scale(x, out);
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

  template <class Row>
  void take_in(const Row& x, V* out, bool huge) {
    if (huge)
      for (int64_t i = 0; i < x.n; ++i)
        if (x.values[i] != 0) make_page(at(x.index(i)));
    // A column is in a row but once, so that four scales can be read before the first is written.
    each_pack(x, [&]<int W>(Width<W>, int64_t i) {
      Pairs<T, W> scales = read<W>(x, i);
      const Pack<V, W> value = values_at<W>(x, i);
      if (n_.changes) remember<W>(x, i, scales, value);
      const auto is_there = value != V(0);
      const Pack<double, W> v = in_double<W, V>(value), a = in_double<W, T>(scales.first), size = v < 0 ? -v : v;
      const Pack<T, W> count = scales.second + T(1);
      const auto mean = narrowed<T, W>(a + (size - a) / in_double<W, T>(count));
      if (out) store(out + i, chosen<V, W>(is_there, narrowed<V, W>(v / in_double<W, T>(mean)), Pack<V, W>{}));
      scales.first = chosen<T, W>(is_there, mean, scales.first);
      scales.second = chosen<T, W>(is_there, count, scales.second);
      write<W>(scales, x, i);
    });
  }

  template <class Row>
  void by_scale(const Row& x, V* out) const {
    each_pack(x, [&]<int W>(Width<W>, int64_t i) {
      const auto mean = means_of<W>(x, i);
      const Pack<V, W> value = values_at<W>(x, i);
      const Pack<double, W> v = in_double<W, V>(value), a = mean > 0 ? mean : v < 0 ? -v : v;
      store(out + i, chosen<V, W>(value != V(0), narrowed<V, W>(v / a), Pack<V, W>{}));
    });
  }

  template <class Row, class F>
  static void each_pack(const Row& x, const F& f) {
    int64_t i = 0;
    for (; i + kFour <= x.n; i += kFour) f(Width<kFour>(), i);
    for (; i < x.n; ++i) f(Width<1>(), i);
  }

  T* at(int64_t column) const { return scales_ + 2 * column; }
  double mean_of(int64_t column) const { return column < n_.n_scales ? double(*at(column)) : 0.0; }

  template <int W, class Row>
  Pack<double, W> means_of(const Row& x, int64_t i) const {
    if constexpr (W == 1)
      return mean_of(x.index(i));
    else
      return Pack<double, W>{mean_of(x.index(i)), mean_of(x.index(i + 1)), mean_of(x.index(i + 2)),
                             mean_of(x.index(i + 3))};
  }
  template <int W, class Row>
  Pairs<T, W> read(const Row& x, int64_t i) const {
    if constexpr (W == 1)
      return {at(x.index(i))[0], at(x.index(i))[1]};
    else
      return read_pairs(at(x.index(i)), at(x.index(i + 1)), at(x.index(i + 2)), at(x.index(i + 3)));
  }
  template <int W, class Row>
  void write(const Pairs<T, W>& scales, const Row& x, int64_t i) const {
    if constexpr (W == 1)
      at(x.index(i))[0] = scales.first, at(x.index(i))[1] = scales.second;
    else
      write_pairs(scales, at(x.index(i)), at(x.index(i + 1)), at(x.index(i + 2)), at(x.index(i + 3)));
  }
  template <int W, class Row>
  void remember(const Row& x, int64_t i, const Pairs<T, W>& scales, const Pack<V, W>& value) {
    for (int l = 0; l < W; ++l)
      if (lane<W>(value, l) != 0)
        n_.changes[n_.n_changes++] = {x.index(i + l), double(lane<W>(scales.first, l)),
                                      double(lane<W>(scales.second, l))};
  }

  int64_t row_at(int64_t k) const { return n_.order ? n_.order[k] : k; }

  // As with the weights of a row in loop.hpp.
  static constexpr int64_t kRowsAhead = 3;
  template <class Row>
  void fetch(const Row& to_come) const {
    if constexpr (!Row::dense) {
      const uintptr_t first = reinterpret_cast<uintptr_t>(scales_);
      for (int64_t i = 0; i < to_come.n; ++i)
        __builtin_prefetch(reinterpret_cast<const void*>(first + uintptr_t(to_come.indices[i]) * sizeof(Scale<T>)), 0,
                           2);
    }
  }

  Normalizing& n_;
  T* const scales_;  // mean and count of each
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
