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
    auto x = rows[k];
    V* const out = all_out ? all_out + (x.values - first) : nullptr;
    const Refusal looked = own.look(x, n.rows);
    if (looked != Refusal::none) return {looked, row};
    if (n.sample_weight && n.sample_weight[row] == 0) {
      if (out) std::copy(x.values, x.values + x.n, out);
      continue;
    }
    if (const Refusal refusal = divide(n.scaling, x, out); refusal != Refusal::none) return {refusal, row};
  }
  return {};
}

}  // namespace

Outcome normalize(Normalizing& n) {
  if (n.rows.single) return with_rows<float>(n.rows, [&](const auto& rows) { return pass<float>(n, rows); });
  return with_rows<double>(n.rows, [&](const auto& rows) { return pass<double>(n, rows); });
}

}  // namespace sureline::SURELINE_ISA
