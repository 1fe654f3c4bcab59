#include "scaling/scales.hpp"

#include <algorithm>

#include "scaling/divider.hpp"

namespace sureline::SURELINE_ISA {

namespace {

template <class V, class AllRows>
Outcome pass(Normalizing& n, const AllRows& all) {
  const V* const first = static_cast<const V*>(n.rows.values);
  V* const all_out = static_cast<V*>(n.out);
  const int64_t n_visited = n.order ? n.n_order : n.rows.n_rows;
  const Ahead rows(all, n.order, n_visited, n.scaling);
  OwnRow<typename AllRows::Row> own;
  for (int64_t k = 0; k < n_visited; ++k) {
    const int64_t row = rows.row(k);
    const auto stored = rows[k];
    auto x = stored.unchecked();
    V* const out = all_out ? all_out + (x.values - first) : nullptr;
    const Refusal looked = own.admit(x, stored, n.rows);
    if (looked != Refusal::none) return {looked, row};
    if (n.sample_weight && n.sample_weight[row] == 0) {
      if (out) std::copy(x.values, x.values + x.n, out);
      continue;
    }
    if (const Refusal refusal = divide(n.scaling, x, out); refusal != Refusal::none) return {refusal, row};
  }
  return {};
}

template <class T>
Outcome normalize_all(Normalizing& n) {
  const auto all = [&](const auto& rows) { return pass<T>(n, rows); };
  return n.rows.layout == Rows::Layout::dense ? with_loop_rows<T, true>(n.rows, all)
                                              : with_loop_rows<T, false>(n.rows, all);
}

}  // namespace

Outcome normalize(Normalizing& n) { return n.rows.single ? normalize_all<float>(n) : normalize_all<double>(n); }

}  // namespace sureline::SURELINE_ISA
