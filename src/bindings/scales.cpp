// Rows divided by their length or by the scales of their features.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <cmath>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "held_scales.hpp"
#include "rows_again.hpp"

namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

void check_width(const Rows& rows) {
  if (rows.n_columns > (int64_t(1) << 40)) refuse("There are more columns than a scale can be kept for.");
}

// The rows are divided by these scales when they are learned from.
void attach(nb::object self, HeldRows& held, bool undoable) {
  Scales* scales = nb::cast<Scales*>(self);
  check_width(held.rows);
  scales->begin(held.rows, undoable);
  held.scales = scales, held.scales_owner = std::move(self);
}

void pass(Scales& scales, const HeldRows& held, const std::optional<Output>& out, bool absorb,
          const std::optional<Vector<int64_t>>& order, const std::optional<Vector<double>>& sample_weight,
          bool undoable) {
  const Rows& rows = held.rows;
  if (out && (is_single(Input(*out), "out") != rows.single || int64_t(out->size()) < n_values(rows)))
    refuse("out must have the dtype of the rows, and room for all of their values.");
  check_order(order, rows.n_rows);
  if (order && undoable && int64_t(order->size()) > rows.n_rows) refuse("order must name each row once.");
  if (sample_weight) check_size("sample_weight", sample_weight->size(), rows.n_rows);
  check_width(rows);
  const Outcome outcome =
      scales.pass(rows, out ? out->data() : nullptr, absorb, order ? order->data() : nullptr,
                  order ? int64_t(order->size()) : 0, sample_weight ? sample_weight->data() : nullptr, undoable, true);
  check(outcome);
}

template <class T>
using Arrays = std::tuple<NewArray<int64_t>, NewArray<T>, NewArray<int64_t>>;

template <class T>
Arrays<T> arrays_in(const Scales& scales) {
  const std::vector<int64_t> groups = scales.groups();
  int64_t n = 0;
  scales.each(groups, [&](int64_t, double, double) { ++n; });
  auto columns = new_array<int64_t>(n);
  auto means = new_array<T>(n);
  auto counts = new_array<int64_t>(n);
  n = 0;
  scales.each(groups, [&](int64_t column, double mean, double count) {
    columns.data()[n] = column, means.data()[n] = T(mean), counts.data()[n++] = int64_t(count);
  });
  return {columns, means, counts};
}

std::variant<Arrays<float>, Arrays<double>> arrays(const Scales& scales) {
  if (scales.single()) return arrays_in<float>(scales);
  return arrays_in<double>(scales);
}

Scales restored(Scalar dtype, const Vector<int64_t>& columns, const Vector<double>& means,
                const Vector<int64_t>& counts) {
  Scales scales(Scales::Kind::scale, dtype);
  const size_t n = columns.size();
  if (means.size() != n || counts.size() != n) refuse("The arrays differ in length.");
  const int64_t most = int64_t(1) << (scales.single() ? 24 : 53);
  for (size_t i = 0; i < n; ++i) {
    const int64_t column = columns.data()[i], before = i ? columns.data()[i - 1] : -1;
    const double mean = means.data()[i];
    if (column <= before || column >= int64_t(1) << 40) refuse("The columns must ascend.");
    if (!(mean > 0) || !std::isfinite(scales.single() ? double(float(mean)) : mean) ||
        (scales.single() && !(float(mean) > 0)))
      refuse("A scale must be a positive number.");
    if (counts.data()[i] < 1 || counts.data()[i] > most) refuse("A count is out of range.");
  }
  if (n > 0) scales.widen(columns.data()[n - 1] + 1);
  for (size_t i = 0; i < n; ++i) scales.restore(columns.data()[i], means.data()[i], double(counts.data()[i]));
  return scales;
}

// For each of these columns the mean size of its values; 1 if it was never seen.
NewArray<double> means_of(const Scales& scales, const Vector<int64_t>& columns) {
  NewArray<double> means = new_array<double>(int64_t(columns.size()));
  for (size_t i = 0; i < columns.size(); ++i) {
    const int64_t column = columns.data()[i];
    const double mean = column >= 0 && column < scales.size() ? scales.at(column).first : 0;
    means.data()[i] = mean > 0 ? mean : 1;
  }
  return means;
}

// True for each of these columns that was seen.
NewArray<bool> seen(const Scales& scales, const Vector<int64_t>& columns) {
  NewArray<bool> found = new_array<bool>(int64_t(columns.size()));
  for (size_t i = 0; i < columns.size(); ++i) {
    const int64_t column = columns.data()[i];
    found.data()[i] = column >= 0 && column < scales.size() && scales.at(column).second > 0;
  }
  return found;
}

}  // namespace

void bind_scales(nb::module_& m) {
  nb::enum_<Scales::Kind>(m, "Scaling", "What rows are divided by.")
      .value("row", Scales::Kind::row, "Their length.")
      .value("scale", Scales::Kind::scale, "The mean size of each feature so far.");
  nb::class_<Scales>(m, "Scales", "Rows divided by their length, or by the mean size of each feature so far.")
      .def(nb::init<Scales::Kind, Scalar>(), "kind"_a, "dtype"_a)
      .def("normalize", &pass, "rows"_a, "out"_a.none(), "absorb"_a, "order"_a.none() = nb::none(),
           "sample_weight"_a.none() = nb::none(), "undoable"_a = false,
           "Divide the values of the rows, and put them into `out`; with `absorb` take each row in before.")
      .def("attach", &attach, "rows"_a, "undoable"_a = false,
           "Let `learn` take in each of these rows and divide it before it is learned from.")
      .def("undo", &Scales::undo, "Take back what the latest call changed, if it was undoable.")
      .def("commit", &Scales::commit, "From now on the latest call cannot be taken back.")
      .def("copy", &Scales::copy)
      .def("arrays", &arrays,
           "Of the features that were seen: columns, ascending, mean sizes, in the scalars of the scales, and counts.")
      .def("means_of", &means_of, "columns"_a, "The mean size of each of these columns; 1 if it was never seen.")
      .def("seen", &seen, "columns"_a, "Which of these columns were seen.")
      .def_static("restored", &restored, "dtype"_a, "columns"_a, "means"_a, "counts"_a);
}
