// State of a rule besides the weights: bounds, windows, averages. Checks that they fit, and undoes a refused run.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "models.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace sureline::bindings {

void check_extras(const Task& task, const HeldModel& held) {
  const Model& model = held.model;
  if ((task.dual != nullptr) != (task.dual_rule != nullptr)) refuse("A dual rule has a memory, and no other has one.");
  if (task.dual) {
    const RowWindow& window = task.dual->window;
    if (int64_t(task.dual->problems.size()) != held.n_problems) refuse("The memory does not fit the policy.");
    if ((window.length > 0) != (task.dual_rule->window == DualRule::Window::sliding))
      refuse("The memory does not fit the window.");
    if (window.columns_beyond() > model.n_slots - 1 || window.heads_beyond() > model.n_heads)
      refuse("The window does not fit the weights.");
    if (model.shape == Shape::simplex && model.n_slots < 2) refuse("A simplex needs a column.");
  }
  if (task.budget) {
    if (!task.coordinate_rule || !has_budget(model.shape)) refuse("The shape has no budget.");
    if (task.budget->beyond() > model.n_slots * model.n_heads) refuse("budget does not fit weights.");
  }
  if (task.selection) {
    if (!task.rule || !has_selection(model.shape)) refuse("The shape has no selection.");
    if (task.selection->n_heads() != model.n_heads || task.selection->beyond() > model.n_slots)
      refuse("selection does not fit weights.");
  }
}

void checkpoint(const Task& task, const Model& model) {
  if (task.budget) task.budget->checkpoint();
  if (task.selection) task.selection->checkpoint(task.journal);
  if (task.dual) task.dual->checkpoint(task.journal);
  if (model.average) model.average->checkpoint(task.journal);
}

void commit_or_roll_back(const Task& task, const Model& model, bool refused) {
  if (task.budget) refused ? task.budget->roll_back() : task.budget->commit();
  if (task.selection) refused ? task.selection->roll_back() : task.selection->commit();
  if (task.dual) refused ? task.dual->roll_back() : task.dual->commit();
  if (model.average) refused ? model.average->roll_back(model.sums) : model.average->commit();
}

void hold_average(HeldModel& held, const HeldAverage& average, const std::optional<Input>& sums) {
  Model& model = held.model;
  if (average.has_value() != sums.has_value()) refuse("An average and its sums go together.");
  if (!average) return;
  if (int64_t(sums->shape(0)) != model.n_slots || int64_t(sums->shape(1)) != model.n_heads)
    refuse("sums does not fit weights.");
  if (is_dual(model.shape) || held.budget || held.selection)
    refuse("A dual rule, a budget or a selection has no average.");
  if (int64_t(average->p->pasts.size()) != held.n_problems || int64_t(average->p->born.size()) != model.n_heads)
    refuse("The average does not fit the policy.");
  model.average = average->p, model.sums = static_cast<double*>(const_cast<void*>(sums->data()));
  held.average = nb::borrow(average->h);
}

}  // namespace sureline::bindings

namespace {

// Half-life, growth, total and number of written coordinates; for each head the total when it came; for each problem
// the number of its runs, delta and limit; all runs.
using Numbers = std::vector<double>;
using AverageState = std::tuple<Numbers, Numbers, Numbers, Numbers>;

AverageState state_of(const Average& average) {
  AverageState state;
  auto& [scalars, born, problems, runs] = state;
  scalars = {average.half_life, average.growth, average.total, average.written};
  born = average.born;
  for (const Average::Past& past : average.pasts) {
    problems.insert(problems.end(), {double(past.runs.size()), past.delta, past.limit});
    for (const Average::Run& run : past.runs) runs.insert(runs.end(), {run.threshold, run.reach, run.cut});
  }
  return state;
}

void check_half_life(double half_life) {
  if (!(half_life > 0)) refuse("half_life must be positive.");
}

Average restored(const AverageState& state) {
  const auto& [scalars, born, problems, runs] = state;
  if (scalars.size() != 4 || born.empty() || problems.empty() || problems.size() % 3 != 0 || runs.size() % 3 != 0)
    refuse("The parts of the average do not fit each other.");
  const double most = 0x1p900;  // far from infinity, also in sums
  const auto in_range = [&](double number) { return std::isfinite(number) && std::fabs(number) < most; };
  check_half_life(scalars[0]);
  Average average(int64_t(problems.size() / 3), int64_t(born.size()), scalars[0]);
  average.growth = scalars[1], average.total = scalars[2], average.written = scalars[3];
  if (!in_range(average.growth) || !(average.growth > 0) || !in_range(average.total) || !in_range(average.written) ||
      !(average.written >= 0))
    refuse("A scalar of the average is out of range.");
  for (size_t head = 0; head < born.size(); ++head) {
    if (!(born[head] >= 0 && born[head] <= average.total)) refuse("A head of the average is out of range.");
    average.born[head] = born[head];
  }
  size_t at = 0;
  for (size_t problem = 0; problem < average.pasts.size(); ++problem) {
    Average::Past& past = average.pasts[problem];
    const double n = problems[3 * problem];
    past.delta = problems[3 * problem + 1], past.limit = problems[3 * problem + 2];
    if (!(n >= 0 && n <= double(runs.size() / 3 - at)) || n != std::floor(n) || !(past.delta >= 0) ||
        !in_range(past.delta) || !(past.limit >= 0))
      refuse("A past of the average is out of range.");
    for (size_t i = 0; i < size_t(n); ++i, ++at) {
      const Average::Run run{runs[3 * at], runs[3 * at + 1], runs[3 * at + 2]};
      if (!in_range(run.threshold) || !in_range(run.reach) || !in_range(run.cut))
        refuse("A run of the average is out of range.");
      const size_t size = past.runs.size();
      const bool rises = size > 0 && past.runs.front().threshold < run.threshold;
      if (size > 0 &&
          (rises ? past.runs.back().threshold >= run.threshold : past.runs.back().threshold <= run.threshold))
        refuse("The thresholds of the average neither rise nor fall.");
      past.runs.push_back(run);
    }
  }
  if (at != runs.size() / 3) refuse("The average has more runs than its problems.");
  return average;
}

}  // namespace

void bind_averages(nb::module_& m) {
  nb::class_<Average>(m, "Average", "The average of weights along a stream: what all of them share.")
      .def(
          "__init__",
          [](Average* self, int64_t n_problems, int64_t n_heads, double half_life) {
            if (n_heads < 1 || n_problems < 1 || n_problems > n_heads) refuse("The average is out of range.");
            check_half_life(half_life);
            new (self) Average(n_problems, n_heads, half_life);
          },
          "n_problems"_a, "n_heads"_a, "half_life"_a, "An infinite `half_life` weighs all rounds the same.")
      .def_prop_ro("half_life", [](const Average& average) { return average.half_life; })
      .def(
          "split", [](Average& average, Policy policy) { average.split(policy == Policy::one_vs_rest); }, "policy"_a,
          "Go on with two heads in place of the only one.")
      .def(
          "add",
          [](Average& average, int64_t n_heads, int64_t n_problems) {
            if (n_heads < int64_t(average.born.size()) || n_problems < int64_t(average.pasts.size()))
              refuse("Heads do not become fewer.");
            average.add(n_heads, n_problems);
          },
          "n_heads"_a, "n_problems"_a, "Go on with that many heads and problems.")
      .def("copy", [](const Average& average) { return Average(average); })
      .def_static(
          "restored",
          [](const Vector<double>& scalars, const Vector<double>& born, const Vector<double>& pasts,
             const Vector<double>& runs) {
            const auto list = [](const Vector<double>& array) {
              return Numbers(array.data(), array.data() + array.size());
            };
            return restored({list(scalars), list(born), list(pasts), list(runs)});
          },
          "scalars"_a, "born"_a, "pasts"_a, "runs"_a, "The average that had these numbers, as __getstate__ gives them.")
      .def("__getstate__", &state_of)
      .def("__setstate__", [](Average& self, const AverageState& state) { new (&self) Average(restored(state)); });
}
