#include "rows/products.hpp"

#include <type_traits>

#include "rows/any_rows.hpp"

namespace sureline {

namespace {

using namespace SURELINE_ISA;

template <class Weight>
Outcome products(const Rows& rows, double from, const Weight& weight, double* out) {
  return with_any_rows(rows, [&](const auto& all) -> Outcome {
    OwnRow<typename std::decay_t<decltype(all)>::Row> own;
    for (int64_t row = 0; row < rows.n_rows; ++row) {
      auto x = all[row];
      Refusal refusal = own.admit(x, rows);
      if (refusal == Refusal::none) refusal = product(x, rows.n_columns, from, weight, out[row]);
      if (refusal != Refusal::none) return {refusal, row};
    }
    return {};
  });
}

}  // namespace

Outcome squared_norms(const Rows& rows, double* out) {
  return products(rows, 0, [](int64_t, double x) { return x; }, out);
}

Outcome linear_scores(const Rows& rows, const double* weights, double* out) {
  return products(rows, weights[0], [weights](int64_t slot, double) { return weights[slot]; }, out);
}

}  // namespace sureline
