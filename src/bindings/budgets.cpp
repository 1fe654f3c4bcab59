// Bounds on the number of nonzero weights, as Python owns them: a budget (of a coordinate rule) and a selection (of a
// margin rule).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <new>
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

void check_budget(int64_t max) {
  if (max < 1 || max > int64_t(1) << 60) refuse("max must be from 1 to 2^60.");
}

Selection restored_selection(int64_t max, int64_t n_heads, const int64_t* members, size_t n) {
  check_budget(max);
  if (n_heads < 1 || n_heads > int64_t(1) << 31) refuse("n_heads must be from 1 to 2^31.");
  Selection selection(max, n_heads);
  for (size_t i = 0; i < n; ++i)
    if (members[i] >= 0) selection.add(members[i]);
  for (int64_t head = 0; head < n_heads; ++head)
    if (selection.n_members(head) > max) refuse("A head has more than max members.");
  return selection;
}

}  // namespace

void bind_budgets(nb::module_& m) {
  using BudgetState = std::tuple<int64_t, double, int64_t, double, std::vector<int64_t>>;
  nb::class_<Budget>(m, "Budget", "At most `max` nonzero weights, and the threshold that sees to it.")
      .def(
          "__init__",
          [](Budget* self, int64_t max) {
            check_budget(max);
            new (self) Budget(max);
          },
          "max"_a)
      .def_ro("max", &Budget::max)
      .def_ro("threshold", &Budget::threshold)
      .def_ro("active", &Budget::active, "How many weights are nonzero.")
      .def_ro("chosen", &Budget::chosen, "The round in which the threshold was last chosen anew.")
      .def_prop_ro(
          "members", [](const Budget& budget) { return as_array(budget.members()); },
          nb::rv_policy::automatic,  // it has its owner
          "The coordinates (slot * heads + head) that have become nonzero: all that are, and some more.")
      .def_static(
          "restored",
          [](int64_t max, double threshold, int64_t active, double chosen, const Vector<int64_t>& members) {
            check_budget(max);
            Budget budget(max);
            budget.threshold = threshold, budget.active = active, budget.chosen = chosen;
            budget.set_members({members.data(), members.data() + members.size()});
            return budget;
          },
          "max"_a, "threshold"_a, "active"_a, "chosen"_a, "members"_a, "The budget that had these numbers.")
      .def("copy", [](const Budget& budget) { return Budget(budget); })
      .def("__getstate__",
           [](const Budget& budget) {
             return BudgetState{budget.max, budget.threshold, budget.active, budget.chosen, budget.members()};
           })
      .def("__setstate__", [](Budget& budget, const BudgetState& state) {
        check_budget(std::get<0>(state));
        new (&budget) Budget(std::get<0>(state));
        budget.threshold = std::get<1>(state);
        budget.active = std::get<2>(state);
        budget.chosen = std::get<3>(state);
        budget.set_members(std::get<4>(state));
      });

  using SelectionState = std::tuple<int64_t, int64_t, std::vector<int64_t>>;
  nb::class_<Selection>(m, "FeatureSelection", "At most `max` features of a head, and the heap that sees to it.")
      .def(
          "__init__",
          [](Selection* self, int64_t max, int64_t n_heads) {
            new (self) Selection(restored_selection(max, n_heads, nullptr, 0));
          },
          "max"_a, "n_heads"_a)
      .def_ro("max", &Selection::max)
      .def_prop_ro("n_heads", &Selection::n_heads)
      .def_prop_ro(
          "active", [](const Selection& selection) { return selection.n_members(); }, "How many are selected.")
      .def_prop_ro(
          "members", [](const Selection& selection) { return as_array(selection.coordinates()); },
          nb::rv_policy::automatic,  // it has its owner
          "The coordinates (slot * heads + head) that are selected, ascending.")
      .def_static(
          "restored",
          [](int64_t max, int64_t n_heads, const Vector<int64_t>& members) {
            return restored_selection(max, n_heads, members.data(), members.size());
          },
          "max"_a, "n_heads"_a, "members"_a, "The selection that had these members.")
      .def("copy",
           [](const Selection& selection) {
             Selection copy(selection);
             copy.forget_keys();  // who copies a model may change its numbers
             return copy;
           })
      .def("__getstate__",
           [](const Selection& selection) {
             return SelectionState{selection.max, selection.n_heads(), selection.coordinates()};
           })
      .def("__setstate__", [](Selection& selection, const SelectionState& state) {
        const auto& [max, n_heads, members] = state;
        new (&selection) Selection(restored_selection(max, n_heads, members.data(), members.size()));
      });
}
