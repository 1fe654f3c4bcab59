// Binding of the detector of rising means.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "alarms/rises.hpp"
#include "arrays.hpp"
#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

using Found = std::vector<std::tuple<int64_t, int64_t, double, double>>;

template <class T>
Found add(Rises& rises, const Vector<T>& values) {
  std::vector<Rise> found;
  for (size_t i = 0; i < values.size(); ++i)
    if (!(double(values.data()[i]) >= 0 && double(values.data()[i]) <= 1)) refuse("Values must be from 0 to 1.");
  {
    nb::gil_scoped_release release;
    rises.add(values.data(), int64_t(values.size()), found);
  }
  Found told;
  for (const Rise& rise : found) told.emplace_back(rise.first, rise.last, rise.before, rise.after);
  return told;
}

static_assert(sizeof(Rises::State) % sizeof(double) == 0);
constexpr size_t kNumbers = sizeof(Rises::State) / sizeof(double);

// The whole state as numbers, in their order.
NewArray<double> numbers(const Rises& rises) {
  NewArray<double> told = new_array<double>(int64_t(kNumbers));
  std::memcpy(told.data(), &rises.state(), sizeof(Rises::State));
  told.data()[1] = double(rises.state().rows), told.data()[2] = double(rises.state().start);
  return told;
}

Rises restored(const Vector<double>& told) {
  if (told.size() != kNumbers) refuse("There are not as many numbers.");
  for (size_t i = 1; i < kNumbers; ++i)
    if (!(told.data()[i] >= 0) || !(told.data()[i] < 0x1p62)) refuse("A number is out of range.");
  Rises::State state;
  std::memcpy(static_cast<void*>(&state), told.data(), sizeof(Rises::State));
  state.rows = int64_t(told.data()[1]), state.start = int64_t(told.data()[2]);
  if (state.fixed > 1 || std::isnan(state.fixed) || state.start * Rises::kBlock > state.rows ||
      state.sum > double(state.rows) || state.at_start > state.sum)
    refuse("The numbers do not fit together.");
  return Rises(state);
}

}  // namespace

void bind_alarms(nb::module_& m) {
  nb::class_<Rises>(m, "Rises", "Finds where a mean of values from 0 to 1 rises beyond chance.")
      .def(nb::init<double>(), "fixed"_a, "Above this mean; or above that of the rows before, if it is negative.")
      .def("add", &add<uint8_t>, "values"_a,
           "The rises that are found: first and last row, the means before and after.")
      .def("add", &add<double>, "values"_a)
      .def_prop_ro("rows", [](const Rises& rises) { return rises.state().rows; })
      .def_prop_ro("wavering", &Rises::wavering)
      .def_prop_ro("numbers", &numbers, nb::rv_policy::automatic, "All that it takes to go on later.")
      .def_static("restored", &restored, "numbers"_a);
}
