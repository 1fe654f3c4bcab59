// Online dual coordinate ascent, as Python sees it: the rule, its memory, and its losses on their own.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "models.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

DualLoss dual_loss(Loss kind, double epsilon) {
  if (!(epsilon > 0)) refuse("epsilon must be positive.");
  return {kind, epsilon};
}

DualRule dual_rule(const DualLoss& loss, double rho, DualRule::Window window, double beta, Regularizer regularizer,
                   double delta, double smoothing) {
  DualRule rule;
  rule.loss = loss, rule.rho = rho, rule.window = window, rule.beta = beta, rule.regularizer = regularizer;
  rule.delta = regularizer == Regularizer::elastic_net ? delta : 0, rule.kappa = smoothing;
  if (!(rho > 0) || !(delta >= 0) || !(smoothing >= 0 && smoothing <= 1)) refuse("A parameter is out of range.");
  if (window == DualRule::Window::exponential && !(beta > 0 && beta < 1)) refuse("beta must be between 0 and 1.");
  if (regularizer == Regularizer::kl)
    rule.shape = Shape::simplex;
  else if (smoothing > 0)
    rule.shape = Shape::dual_smoothed;
  else
    rule.shape = window == DualRule::Window::sliding ? Shape::dual_counted : Shape::dual;
  return rule;
}

// The scalars, a row for each problem; the window's length; for each example how many parts and numbers it has; heads
// and coefficients of the parts; columns and values of the numbers.
using Scalar1 = std::vector<double>;
using Integers = std::vector<int64_t>;
using WindowArrays =
    std::tuple<Vector<int64_t>, Vector<int64_t>, Vector<int64_t>, Vector<double>, Vector<int64_t>, Vector<double>>;
using MemoryState = std::tuple<Scalar1, int64_t, Integers, Integers, Integers, Scalar1, Integers, Scalar1>;

Scalar1 scalars_of(const DualMemory& memory) {
  Scalar1 scalars(memory.problems.size() * kAscentColumns);
  std::memcpy(scalars.data(), memory.problems.data(), scalars.size() * sizeof(double));
  return scalars;
}

MemoryState state_of(const DualMemory& memory) {
  MemoryState state;
  auto& [scalars, length, n_parts, n_numbers, heads, coefficients, columns, values] = state;
  scalars = scalars_of(memory);
  length = memory.window.length;
  for (int64_t i = 0; i < memory.window.size(); ++i) {
    const RowWindow::Example example = memory.window.example(i);
    n_parts.push_back(example.n_parts), n_numbers.push_back(example.n);
    for (int64_t k = 0; k < example.n_parts; ++k)
      heads.push_back(example.parts[k].head), coefficients.push_back(example.parts[k].coefficient);
    columns.insert(columns.end(), example.columns, example.columns + example.n);
    values.insert(values.end(), example.values, example.values + example.n);
  }
  return state;
}

struct HeldNumbers {  // a row for the window
  const int64_t* columns;
  const double* values;
  int64_t n;
  int64_t size() const { return n; }
  int64_t index(int64_t i) const { return columns[i]; }
  double value(int64_t i) const { return values[i]; }
};

DualMemory restored(const MemoryState& state) {
  const auto& [scalars, length, n_parts, n_numbers, heads, coefficients, columns, values] = state;
  if (scalars.empty() || scalars.size() % kAscentColumns != 0) refuse("The scalars of the memory are not whole rows.");
  if (length < 0 || int64_t(n_parts.size()) > length || n_parts.size() != n_numbers.size() ||
      heads.size() != coefficients.size() || columns.size() != values.size())
    refuse("The parts of the window do not fit each other.");
  DualMemory memory(int64_t(scalars.size()) / kAscentColumns, length);
  std::memcpy(static_cast<void*>(memory.problems.data()), scalars.data(), scalars.size() * sizeof(double));
  size_t part = 0, number = 0;
  for (size_t i = 0; i < n_parts.size(); ++i) {
    if (n_parts[i] < 0 || n_numbers[i] < 0 || size_t(n_parts[i]) > heads.size() - part ||
        size_t(n_numbers[i]) > columns.size() - number)
      refuse("An example of the window is longer than there is.");
    for (int64_t k = 0; k < n_parts[i]; ++k, ++part) {
      if (heads[part] < 0) refuse("A head of the window is out of range.");
      memory.window.add_part(heads[part], coefficients[part]);
    }
    const HeldNumbers row{columns.data() + number, values.data() + number, n_numbers[i]};
    for (int64_t k = 0; k < n_numbers[i]; ++k)
      if (row.index(k) < 0) refuse("A column of the window is out of range.");
    memory.window.add_row(row);
    number += size_t(n_numbers[i]);
    memory.window.end_example();
  }
  if (part != heads.size() || number != columns.size()) refuse("The window has more than its examples.");
  return memory;
}

}  // namespace

void bind_windows(nb::module_& m) {
  nb::class_<DualMemory>(m, "DualMemory", "What a dual rule remembers besides the weights.")
      .def(
          "__init__",
          [](DualMemory* self, int64_t n_problems, int64_t length) {
            if (n_problems < 1 || n_problems > int64_t(1) << 31 || length < 0) refuse("The memory is out of range.");
            new (self) DualMemory(n_problems, length);
          },
          "n_problems"_a, "length"_a = 0)
      .def_prop_ro("length", [](const DualMemory& memory) { return memory.window.length; })
      .def_prop_ro(
          "scalars", [](const DualMemory& memory) { return as_array(scalars_of(memory)); },
          nb::rv_policy::automatic,  // it has its owner
          "A row of AscentColumn numbers for each problem, one row after the other.")
      .def(
          "window",
          [](const DualMemory& memory) {
            const auto [scalars, length, n_parts, n_numbers, heads, coefficients, columns, values] = state_of(memory);
            return std::make_tuple(as_array(n_parts), as_array(n_numbers), as_array(heads), as_array(coefficients),
                                   as_array(columns), as_array(values));
          },
          nb::rv_policy::automatic,
          "The examples that are in the window: for each how many parts and numbers it has, then the heads and "
          "coefficients of the parts, and the columns and values of the numbers.")
      .def_static(
          "restored",
          [](const Vector<double>& scalars, int64_t length, const WindowArrays& window) {
            const auto list = [](const auto& array) {
              return std::vector<std::decay_t<decltype(array.data()[0])>>(array.data(), array.data() + array.size());
            };
            const auto& [n_parts, n_numbers, heads, coefficients, columns, values] = window;
            return restored({list(scalars), length, list(n_parts), list(n_numbers), list(heads), list(coefficients),
                             list(columns), list(values)});
          },
          "scalars"_a, "length"_a, "window"_a, "The memory that had these numbers; `window` is what window() returned.")
      .def("copy",
           [](const DualMemory& memory) {
             DualMemory copy(memory);
             copy.crossings.forget();  // who copies a model may change its numbers
             return copy;
           })
      .def(
          "split",
          [](DualMemory& memory, Policy policy) {
            if (policy == Policy::one_vs_rest) {
              memory.problems.push_back(memory.problems.at(0));
              memory.window.split({{0, -1.0}, {1, 1.0}});
            } else {
              memory.window.split({{1, 1.0}});
            }
            memory.crossings.forget();
          },
          "policy"_a,
          "Two heads from now on. Of policy ovr both have what the one had, the first with the other sign; "
          "otherwise the second has all.")
      .def(
          "add_problems",
          [](DualMemory& memory, int64_t n) {
            memory.problems.resize(memory.problems.size() + size_t(std::max<int64_t>(n, 0)));
            memory.crossings.forget();
          },
          "n"_a, "So many more that begin from nothing.")
      .def("__getstate__", &state_of)
      .def("__setstate__",
           [](DualMemory& memory, const MemoryState& state) { new (&memory) DualMemory(restored(state)); });

  nb::class_<DualLoss>(m, "DualLoss", "A loss of the margin, or of the score and a target, and its conjugate.")
      .def(
          "__init__", [](DualLoss* self, Loss kind, double epsilon) { new (self) DualLoss(dual_loss(kind, epsilon)); },
          "kind"_a, "epsilon"_a = DualLoss{}.epsilon)
      .def_prop_ro("low", &DualLoss::low, "The least dual variable.")
      .def_prop_ro("high", &DualLoss::high, "The largest dual variable.")
      .def("value", &DualLoss::value, "m"_a, "wanted"_a = 1.0)
      .def("conjugate", &DualLoss::conjugate, "b"_a, "wanted"_a = 1.0, "loss*(-b).")
      .def(
          "best",
          [](const DualLoss& loss, double m_, double A, double wanted) { return best_dual(loss, m_, A, wanted); },
          "m"_a, "A"_a, "wanted"_a = 1.0, "The best dual variable b where the margin after the step is m + A b.")
      .def(
          "best_cut",
          [](const DualLoss& loss, const Vector<double>& base, const Vector<double>& x, double a, double delta,
             double wanted) {
            if (base.size() != x.size()) refuse("base and x differ in length.");
            int steps = 0;
            const double best = best_dual(
                loss, wanted,
                [&](double b, double& slope) {
                  double m_ = 0;
                  slope = 0;
                  for (size_t i = 0; i < x.size(); ++i) {
                    const double w = base.data()[i] + a * b * x.data()[i];
                    m_ += x.data()[i] * soft(w, delta);
                    if (std::fabs(w) > delta) slope += a * x.data()[i] * x.data()[i];
                  }
                  return m_;
                },
                &steps);
            return std::make_tuple(best, steps);
          },
          "base"_a, "x"_a, "a"_a, "delta"_a, "wanted"_a = 1.0,
          "The best dual variable b where the margin after the step is soft(base + a b x, delta).x, and how many steps "
          "Newton took to it.");

  nb::enum_<DualRule::Window>(m, "Window", "What an old example still counts.")
      .value("infinite", DualRule::Window::infinite, "As much as a new one.")
      .value("exponential", DualRule::Window::exponential, "Less with every example that comes.")
      .value("sliding", DualRule::Window::sliding, "As much as a new one, and then nothing.");
  nb::enum_<Regularizer>(m, "Regularizer")
      .value("l2", Regularizer::l2)
      .value("elastic_net", Regularizer::elastic_net)
      .value("kl", Regularizer::kl);
  nb::class_<DualRule>(m, "DualRule", "A rule of online dual coordinate ascent.")
      .def(
          "__init__",
          [](DualRule* self, const DualLoss& loss, double rho, DualRule::Window window, double beta,
             Regularizer regularizer, double delta, double smoothing) {
            new (self) DualRule(dual_rule(loss, rho, window, beta, regularizer, delta, smoothing));
          },
          "loss"_a, nb::kw_only(), "rho"_a, "window"_a, "beta"_a, "regularizer"_a, "delta"_a, "smoothing"_a)
      .def_ro("shape", &DualRule::shape);
}
