// A margin rule whose step is a Python function, for learners written in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <exception>
#include <limits>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "rules/margin_rules.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

class PythonRule final : public sureline::Rule {
 public:
  PythonRule(nb::callable step, double below) : step_(std::move(step)) { active_below = below; }

  // The loops run without Python's lock. A function that raises makes a step that they refuse, so that the row leaves
  // no trace; it is up to the function to remember what it raised.
  sureline::Step step(double m, double v, double s, double, const sureline::Memory&) const override {
    const nb::gil_scoped_acquire lock;
    try {
      const auto [alpha, beta, kappa, gamma] = nb::cast<std::tuple<double, double, double, double>>(step_(m, v, s));
      return {.alpha = alpha, .beta = beta, .u = v - beta * v * v, .kappa = kappa, .gamma = gamma};
    } catch (const std::exception&) {
      return {.alpha = std::numeric_limits<double>::quiet_NaN()};
    }
  }

 private:
  nb::callable step_;
};

}  // namespace

void bind_python_rule(nb::module_& m) {
  nb::class_<PythonRule, sureline::Rule>(m, "PythonRule", "A margin rule that asks a Python function for its step.")
      .def(nb::init<nb::callable, double>(), "step"_a, "active_below"_a,
           "`step` gets margin, variance and sample weight, and returns alpha, beta, kappa and gamma. It is called for "
           "margins less than `active_below`.");
}
