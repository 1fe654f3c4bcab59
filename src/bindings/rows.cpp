// Rows in memory, checked before anything is read through them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bindings.hpp"
#include "models.hpp"
#include "rows/check.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

constexpr int64_t kMostColumns = int64_t(1) << 31;  // as in a model file

HeldRows dense_rows(const Input& X, bool steady_values) {
  if (X.ndim() != 2) refuse("X must have two dimensions.");
  HeldRows held;
  held.owners = {X};
  held.rows = {Rows::Layout::dense, is_single(X, "X"),  X.data(), nullptr, nullptr,
               int64_t(X.shape(0)), int64_t(X.shape(1))};
  held.rows.steady_values = steady_values;
  return held;
}

HeldRows csr_rows(const Input& values, const Input& indices, const Input& indptr, int64_t n_rows, int64_t n_columns,
                  bool steady_values) {
  const std::string prefix = "Input X is not a valid CSR matrix: ";
  if (values.ndim() != 1 || indices.ndim() != 1 || indptr.ndim() != 1)
    refuse(prefix + "its arrays must have one dimension.");
  const bool wide = indices.dtype() == nb::dtype<int64_t>();
  if (indices.dtype() != indptr.dtype() || (!wide && indices.dtype() != nb::dtype<int32_t>()))
    refuse(prefix + "indices and indptr must both be int32 or both int64.");
  if (n_columns < 0 || n_columns > (int64_t(1) << 60) || n_rows < 0 || int64_t(indptr.size()) != n_rows + 1)
    refuse(prefix + "indptr has " + std::to_string(indptr.size()) + " entries for " + std::to_string(n_rows) +
           " rows; it needs one more than there are rows.");
  if (n_columns > kMostColumns)
    refuse("X has " + std::to_string(n_columns) + " columns; there may be 2147483648 at most.");
  HeldRows held;
  held.owners = {values, indices, indptr};
  held.rows = {wide ? Rows::Layout::csr64 : Rows::Layout::csr32,
               is_single(values, "X"),
               values.data(),
               indices.data(),
               indptr.data(),
               n_rows,
               n_columns};
  held.rows.steady_values = steady_values;
  const char* bytes = static_cast<const char*>(indptr.data());
  held.starts.assign(bytes, bytes + indptr.nbytes());
  held.rows.indptr = held.starts.data();
  const int64_t n_values = int64_t(values.size()), n_indices = int64_t(indices.size());
  const void* starts = held.starts.data();
  const auto wrong = wide ? check_starts(static_cast<const int64_t*>(starts), n_rows, n_values, n_indices)
                          : check_starts(static_cast<const int32_t*>(starts), n_rows, n_values, n_indices);
  if (wrong) refuse(prefix + *wrong + ".");
  return held;
}

}  // namespace

void bind_rows(nb::module_& m) {
  nb::enum_<Scalar>(m, "Scalar", "The type of numbers.")
      .value("float32", Scalar::float32)
      .value("float64", Scalar::float64);
  nb::class_<HeldRows>(m, "Rows", "Rows in memory. What is inside them is checked by whoever goes over them.")
      .def_static("dense", &dense_rows, "X"_a, "steady_values"_a = false)
      .def_static("csr", &csr_rows, "values"_a, "indices"_a, "indptr"_a, "n_rows"_a, "n_columns"_a,
                  "steady_values"_a = false)
      .def(
          "describe",
          [](const HeldRows& held, int64_t row) {
            if (row < 0 || row >= held.rows.n_rows) refuse("There is no such row.");
            return describe_row(held.rows, row);
          },
          "row"_a, "What is wrong with the contents of a row.")
      .def_prop_ro("n_rows", [](const HeldRows& held) { return held.rows.n_rows; })
      .def_prop_ro("n_columns", [](const HeldRows& held) { return held.rows.n_columns; });
}
