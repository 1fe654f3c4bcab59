// Divides one row (scales.hpp).
#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "memory/touched.hpp"
#include "rows/packs.hpp"
#include "scaling/scales.hpp"

namespace sureline::SURELINE_ISA {

// Rows of V, scales of T.
template <class V, class T>
class Divider {
 public:
  explicit Divider(Scaling& scaling) : s_(scaling), scales_(static_cast<T*>(scaling.scales)) {}

  template <class Row>
  void divide(const Row& x, V* out) {
    if (s_.by_row)
      by_length(x, out);
    else if (s_.absorb)
      take_in(x, out);
    else if (out)
      by_scale(x, out);
  }

 private:
  // A single sum, so that the zeros of a dense row change no bit.
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
  void take_in(const Row& x, V* out) {
    if (!Row::dense && s_.bytes() > kHuge)
      for (int64_t i = 0; i < x.n; ++i)
        if (x.values[i] != 0) make_page(at(x.index(i)));
    if (s_.changes) remember(x);
    if (out)
      take_in<true>(x, out);
    else
      take_in<false>(x, out);
  }

  // Works on copies, which the compiler knows that no write changes.
  template <bool divides, class Row>
  void take_in(const Row row, V* const out) const {
    const Divider self = *this;
    // A column is in a row but once, so that all scales of a pack can be read before the first is written.
    each_pack(row, [row, out, self]<int W>(Width<W>, int64_t i) {
      Pairs<T, W> scales = self.template read<W>(row, i);
      const Pack<V, W> value = values_at<W>(row, i);
      // Values that became non-finite after the check, by another thread, must not enter the scales.
      const auto is_there = (value != V(0)) & (size_of<W>(value) < std::numeric_limits<V>::infinity());
      const Pack<double, W> a = in_double<W, T>(scales.first), size = in_double<W, V>(size_of<W>(value));
      const Pack<T, W> count = scales.second + T(1);
      const auto mean = narrowed<T, W>(a + (size - a) / in_double<W, T>(count));
      scales.first = chosen<T, W>(is_there, mean, scales.first);
      scales.second = chosen<T, W>(is_there, count, scales.second);
      self.template write<W>(scales, row, i);
      if (divides) store(out + i, chosen<V, W>(is_there, quotient<W>(value, mean), Pack<V, W>{}));
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

  // Divides in double and rounds: the quotient of two floats has the same bits either way.
  template <int W>
  [[gnu::always_inline]] static Pack<V, W> quotient(const Pack<V, W>& value, const Pack<T, W>& mean) {
    if constexpr (std::is_same_v<V, T>)
      return value / mean;
    else
      return narrowed<V, W>(in_double<W, V>(value) / in_double<W, T>(mean));
  }

  template <class Row, class F>
  static void each_pack(const Row& x, const F& f) {
    int64_t i = 0;
    for (; i + kWide <= x.n; i += kWide) f(Width<kWide>(), i);
    for (; i + kFour <= x.n; i += kFour) f(Width<kFour>(), i);
    for (; i < x.n; ++i) f(Width<1>(), i);
  }

  T* at(int64_t column) const { return scales_ + 2 * column; }
  double mean_of(int64_t column) const { return column < s_.n_scales ? double(*at(column)) : 0.0; }

  template <int W, class Row>
  Pack<double, W> means_of(const Row& x, int64_t i) const {
    Pack<double, W> means{};
    if constexpr (W == 1)
      means = mean_of(x.index(i));
    else
      for (int l = 0; l < W; ++l) means[l] = mean_of(x.index(i + l));
    return means;
  }
  template <int W, class Row>
  [[gnu::always_inline]] Pairs<T, W> read(const Row& x, int64_t i) const {
    if constexpr (W == 1)
      return {at(x.index(i))[0], at(x.index(i))[1]};
    else if constexpr (W == 4)
      return read_pairs(at(x.index(i)), at(x.index(i + 1)), at(x.index(i + 2)), at(x.index(i + 3)));
    else
      return read_eight(at(x.index(i)), at(x.index(i + 1)), at(x.index(i + 2)), at(x.index(i + 3)), at(x.index(i + 4)),
                        at(x.index(i + 5)), at(x.index(i + 6)), at(x.index(i + 7)));
  }
  template <int W, class Row>
  [[gnu::always_inline]] void write(const Pairs<T, W>& scales, const Row& x, int64_t i) const {
    if constexpr (W == 1)
      at(x.index(i))[0] = scales.first, at(x.index(i))[1] = scales.second;
    else if constexpr (W == 4)
      write_pairs(scales, at(x.index(i)), at(x.index(i + 1)), at(x.index(i + 2)), at(x.index(i + 3)));
    else
      write_eight(scales, at(x.index(i)), at(x.index(i + 1)), at(x.index(i + 2)), at(x.index(i + 3)),
                  at(x.index(i + 4)), at(x.index(i + 5)), at(x.index(i + 6)), at(x.index(i + 7)));
  }
  // Joins the halves in an order that moves no number between them.
  [[gnu::always_inline]] static Pairs<T, 8> read_eight(const T* a, const T* b, const T* c, const T* d, const T* e,
                                                       const T* f, const T* g, const T* h) {
    const Pack<T, 4> ab = side_by_side(a, b), cd = side_by_side(c, d), ef = side_by_side(e, f), gh = side_by_side(g, h);
    const auto abef = __builtin_shufflevector(ab, ef, 0, 1, 2, 3, 4, 5, 6, 7);
    const auto cdgh = __builtin_shufflevector(cd, gh, 0, 1, 2, 3, 4, 5, 6, 7);
    return {__builtin_shufflevector(abef, cdgh, 0, 2, 8, 10, 4, 6, 12, 14),
            __builtin_shufflevector(abef, cdgh, 1, 3, 9, 11, 5, 7, 13, 15)};
  }
  [[gnu::always_inline]] static void write_eight(const Pairs<T, 8>& pairs, T* a, T* b, T* c, T* d, T* e, T* f, T* g,
                                                 T* h) {
    const auto abef = __builtin_shufflevector(pairs.first, pairs.second, 0, 8, 1, 9, 4, 12, 5, 13);
    const auto cdgh = __builtin_shufflevector(pairs.first, pairs.second, 2, 10, 3, 11, 6, 14, 7, 15);
    write_two(__builtin_shufflevector(abef, abef, 0, 1, 2, 3), a, b);
    write_two(__builtin_shufflevector(cdgh, cdgh, 0, 1, 2, 3), c, d);
    write_two(__builtin_shufflevector(abef, abef, 4, 5, 6, 7), e, f);
    write_two(__builtin_shufflevector(cdgh, cdgh, 4, 5, 6, 7), g, h);
  }
  [[gnu::always_inline]] static void write_two(const Pack<T, 4>& ab, T* a, T* b) {
    if constexpr (sizeof(T) == 4) {
      const auto two = std::bit_cast<Pack<double, 2>>(ab);
      store(a, two[0]), store(b, two[1]);
    } else {
      store(a, Pack<T, 2>(__builtin_shufflevector(ab, ab, 0, 1)));
      store(b, Pack<T, 2>(__builtin_shufflevector(ab, ab, 2, 3)));
    }
  }

  template <class Row>
  void remember(const Row& x) {
    ScaleChange* next = s_.changes + s_.n_changes;
    for (int64_t i = 0; i < x.n; ++i)  // zeros too: another thread may make them nonzero before they are counted
      *next++ = {x.index(i), double(at(x.index(i))[0]), double(at(x.index(i))[1])};
    s_.n_changes = next - s_.changes;
  }

  template <int W>
  [[gnu::always_inline]] static Pack<V, W> size_of(Pack<V, W> value) {
    using Bits = std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>;
    return std::bit_cast<Pack<V, W>>(Pack<Bits, W>(std::bit_cast<Pack<Bits, W>>(value) & (~Bits(0) >> 1)));
  }

  static constexpr int kWide = 8;

  Scaling& s_;
  T* const scales_;  // mean and count of each
};

// True if no value has the largest exponent, in whole vectors as in row.hpp.
template <class V>
inline bool all_finite(const V* values, int64_t n) {
  using Bits = std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>;
  typedef Bits Many __attribute__((vector_size(kVectorBytes)));
  constexpr int W = kVectorBytes / sizeof(V);
  constexpr Bits infinity = sizeof(V) == 4 ? Bits(0x7f800000) : Bits(0x7ff0000000000000);
  if (n < W) {
    for (int64_t i = 0; i < n; ++i)
      if ((std::bit_cast<Bits>(values[i]) & infinity) == infinity) return false;
    return true;
  }
  auto bad = (load<Many>(values) & infinity) == infinity;
  for (int64_t i = W; i < n; i += W) bad |= (load<Many>(values + (i + W <= n ? i : n - W)) & infinity) == infinity;
  return all_zero(&bad, sizeof bad);
}

// Nothing changes if a value is not finite. `out` is null if the row is only to be taken in.
template <class V, class Row>
Refusal divide(Scaling& scaling, const Row& x, V* out) {
  if (!all_finite(x.values, x.n)) return Refusal::contents;
  if (scaling.single)
    Divider<V, float>(scaling).divide(x, out);
  else
    Divider<V, double>(scaling).divide(x, out);
  return Refusal::none;
}

// Prefetches rows in the order of a pass into the second cache, as in loop.hpp.
template <class AllRows>
class Ahead {
 public:
  Ahead(const AllRows& rows, const int64_t* order, int64_t n, const Scaling& scaling)
      : rows_(rows),
        order_(order),
        n_(n),
        // Worth it only where the scales do not stay in the nearer caches.
        worth_it_(!AllRows::Row::dense && scaling.bytes() > (1 << 20)),
        first_(reinterpret_cast<uintptr_t>(scaling.scales)),
        entry_(uintptr_t(scaling.entry_bytes())) {}

  int64_t row(int64_t k) const { return order_ ? order_[k] : k; }
  auto operator[](int64_t k) const {
    if constexpr (!AllRows::Row::dense)
      if (worth_it_ && k + kRowsAhead < n_) fetch(rows_[row(k + kRowsAhead)]);
    return rows_[row(k)];
  }

 private:
  static constexpr int64_t kRowsAhead = 3;
  // The indices have not been looked at and may be anything, and so the address is no pointer arithmetic.
  void fetch(const typename AllRows::Stored& to_come) const {
    to_come.wide ? fetch(to_come.all_wide(), to_come.n) : fetch(to_come.narrow(), to_come.n);
  }
  template <class I>
  void fetch(const I* indices, int64_t n) const {
    for (int64_t i = 0; i < n; ++i)
      __builtin_prefetch(reinterpret_cast<const void*>(first_ + uintptr_t(indices[i]) * entry_), 0, 2);
  }

  const AllRows rows_;
  const int64_t* const order_;
  const int64_t n_;
  const bool worth_it_;
  const uintptr_t first_, entry_;
};

}  // namespace sureline::SURELINE_ISA
