// Binding of models: learning from rows in place, scores, and nonzero weights.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <cmath>
#include <cstring>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "held_scales.hpp"
#include "models.hpp"
#include "row_weights.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace sureline::bindings {

namespace {

// True if the rule can work on numbers of that shape.
bool fits(const Rule& rule, Shape shape) {
  if (rule.tracks_norm) return shape == Shape::identity;
  if (rule.steps_theta) return shape == Shape::theta || shape == Shape::full;
  return shape == Shape::identity || shape == Shape::diagonal || shape == Shape::full;
}
bool fits(const CoordinateRule& rule, Shape shape) { return shape == rule.shape; }
bool fits(const DualRule& rule, Shape shape) { return shape == rule.shape; }

}  // namespace

void HeldModel::check_fits(const Rows& rows) const {
  if (single != rows.single) refuse("The model's arrays and X must have the same dtype.");
  if (model.n_slots < rows.n_columns + 1) refuse("X has more columns than the model has weights.");
  if (has_factors(model.shape) && model.n_slots != rows.n_columns + 1)
    refuse("With a full covariance X must have as many columns as the model.");
}

Task HeldModel::task(const AnyRuleAt& rule, std::vector<Memory>& memory_now, std::vector<Tally>& tally_now) const {
  check_writeable();
  Task task;
  std::visit(
      [&](const auto* one) {
        if (!fits(*one, model.shape)) refuse("The rule does not fit the shape.");
        if constexpr (std::is_same_v<decltype(one), const Rule*>)
          task.rule = one;
        else if constexpr (std::is_same_v<decltype(one), const CoordinateRule*>)
          task.coordinate_rule = one;
        else
          task.dual_rule = one;
      },
      rule);
  task.policy = policy;
  task.budget = budget, task.selection = selection, task.dual = dual;
  check_extras(task, *this);
  if (!task.dual_rule && (policy == Policy::regression) != (task.rule && task.rule->regresses))
    refuse("The rule does not fit the policy.");
  memory_now.resize(size_t(n_problems)), tally_now.resize(size_t(n_classes));
  task.memory = memory_now.data(), task.tally = tally_now.data();
  return task;
}

Outcome HeldModel::run(const Task& task_, bool release) const {
  Task task = task_;
  std::optional<Averaging> averaging;
  if (model.average) task.averaging = &averaging.emplace(model, single, &kernels(single));
  const size_t memory_bytes = size_t(n_problems) * sizeof(Memory), tally_bytes = size_t(n_classes) * sizeof(Tally);
  std::memcpy(static_cast<void*>(task.memory), memory, memory_bytes);
  std::memcpy(static_cast<void*>(task.tally), tally, tally_bytes);
  checkpoint(task, model);
  if (task.recorder) task.recorder->begin(record);
  Outcome outcome;
  try {
    if (release) {
      nb::gil_scoped_release released;
      outcome = kernels(single).learn(task, model);
    } else {
      outcome = kernels(single).learn(task, model);
    }
  } catch (...) {  // no memory for the extras
    commit_or_roll_back(task, model, true);
    throw;
  }
  // Together with the weights, before Python can handle a signal.
  commit_or_roll_back(task, model, outcome.refusal != Refusal::none);
  if (outcome.refusal == Refusal::none) {
    std::memcpy(static_cast<void*>(memory), task.memory, memory_bytes);
    std::memcpy(static_cast<void*>(tally), task.tally, tally_bytes);
    if (task.recorder) task.recorder->commit(record);
  }
  return outcome;
}

void HeldModel::refresh(const AnyRuleAt& rule) const {
  if (!rounds) return;
  check_writeable();
  if (const auto* of_dual = std::get_if<const DualRule*>(&rule)) {
    if (!dual || int64_t(dual->problems.size()) != n_problems) refuse("The memory does not fit the policy.");
    for (int64_t i = 0; i < n_problems; ++i) rounds[i] = (*of_dual)->round(dual->problems[size_t(i)]);
  } else if (const auto* of_coordinates = std::get_if<const CoordinateRule*>(&rule)) {
    for (int64_t i = 0; i < n_problems; ++i) {
      Round round = (*of_coordinates)->round(memory[i].t + 1, memory[i].cut);
      if (budget)
        round.threshold = budget->threshold;
      else if (single)
        round.threshold = double(float(round.threshold));  // as the loop rounds it
      rounds[i] = round;
    }
  }
}

}  // namespace sureline::bindings

namespace {

// An array that is written if it is writable.
using AnyArray = std::variant<Output, Input>;
template <class T>
using Table = std::variant<nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>,
                           nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>>;

using AnyRecord = std::variant<NumbersOfRecord, nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

// Takes the arrays of a model in: keeps them alive, and knows whether all can be written.
class Keeper {
 public:
  explicit Keeper(HeldModel& held) : held_(held) { held.writeable = true; }

  Input keep(const AnyArray& array) const {
    return std::visit([&](const auto& one) { return keep_one(one); }, array);
  }
  // The rows of a table, as structs.
  template <class Struct, class T>
  Struct* rows(const Table<T>& table, int64_t n_rows, const char* name) const {
    const Input array = std::visit([&](const auto& one) { return keep_one(one); }, table);
    if (int64_t(array.shape(0)) != n_rows || array.shape(1) * sizeof(T) != sizeof(Struct))
      refuse(std::string(name) + " does not fit the shape and the policy.");
    return static_cast<Struct*>(const_cast<void*>(array.data()));
  }

  template <class Array>
  Input keep_any(const Array& array) const {
    return keep_one(array);
  }

 private:
  template <class Array>
  Input keep_one(const Array& array) const {
    held_.writeable &= !std::is_const_v<std::remove_pointer_t<decltype(array.data())>>;
    return held_.arrays.emplace_back(array);
  }
  HeldModel& held_;
};

HeldModel checked_model(Shape shape, Policy policy, const AnyArray& weights_, const Table<double>& memory,
                        const Table<int64_t>& tally, int64_t n_columns, bool intercept,
                        const std::optional<AnyArray>& factors_, const std::optional<Table<double>>& rounds,
                        const std::optional<AnyRecord>& record, const Extras& extras, const HeldAverage& average,
                        const std::optional<Table<double>>& sums) {
  HeldModel held;
  const Keeper keeper(held);
  const Input weights = keeper.keep(weights_);
  held.single = is_single(weights, "weights");
  if (weights.ndim() < 2 || weights.shape(0) < 1 || weights.shape(1) < 1 ||
      weights.size() != weights.shape(0) * weights.shape(1) * size_t(width_of(shape)))
    refuse("weights does not fit the shape.");
  Model& model = held.model;
  model.shape = shape, model.intercept = intercept, model.weights = const_cast<void*>(weights.data());
  model.n_slots = int64_t(weights.shape(0)), model.n_heads = int64_t(weights.shape(1));
  check_policy(policy, model.n_heads);
  held.policy = policy, held.n_columns = n_columns;
  if (n_columns < 0 || n_columns + 1 > model.n_slots || (has_factors(shape) && n_columns + 1 != model.n_slots))
    refuse("n_columns does not fit weights.");
  if (has_factors(shape)) {
    if (!factors_) refuse("factors does not fit weights.");
    const Input factors = keeper.keep(*factors_);
    if (int64_t(factors.size()) != model.n_heads * (model.n_slots * (model.n_slots + 1) / 2))
      refuse("factors does not fit weights.");
    if (factors.dtype() != weights.dtype()) refuse("The model's arrays must have the same dtype.");
    model.factors = const_cast<void*>(factors.data());
  }
  held.n_problems = policy == Policy::one_vs_rest ? model.n_heads : 1;
  held.n_classes = model.n_heads == 1 ? 2 : model.n_heads;
  held.memory = keeper.rows<Memory>(memory, held.n_problems, "memory");
  held.tally = keeper.rows<Tally>(tally, held.n_classes, "tally");
  if (rounds.has_value() != has_rounds(shape)) refuse("rounds does not fit the shape and the policy.");
  if (rounds) held.rounds = keeper.rows<Round>(*rounds, held.n_problems, "rounds");
  if (record) {
    const Input numbers = std::visit([&](const auto& one) { return keeper.keep_any(one); }, *record);
    if (int64_t(numbers.size()) != record::kSize || policy == Policy::regression)
      refuse("The record does not fit, or there are no classes.");
    held.record = static_cast<double*>(const_cast<void*>(numbers.data()));
  }
  if (extras)
    std::visit(
        [&](const auto& one) {
          if constexpr (requires { one.p->threshold; })
            held.budget = one.p;
          else if constexpr (requires { one.p->problems; })
            held.dual = one.p;
          else
            held.selection = one.p;
          held.extras = nb::borrow(one.h);
        },
        *extras);
  std::optional<Input> numbers;
  if (sums) numbers = std::visit([&](const auto& one) { return keeper.keep_any(one); }, *sums);
  hold_average(held, average, numbers);
  return held;
}

void learn(const HeldModel& held, const AnyRuleAt& rule, HeldRows& rows, const Vector<int32_t>& labels,
           const std::optional<Vector<double>>& sample_weight, const std::optional<Vector<int64_t>>& order,
           const std::optional<Vector<double>>& targets, const std::optional<std::tuple<double, double>>& cost,
           const std::optional<Vector<double>>& class_weight, bool shares, const std::optional<Vector<double>>& told,
           const std::optional<Vector<double>>& units, bool journal, bool record,
           const std::optional<OutputVector<uint8_t>>& wrong) {
  held.check_fits(rows.rows);
  if (journal) rows.own_columns();  // for undoing changes
  std::vector<Memory> memory_now;
  std::vector<Tally> tally_now;
  Task task = held.task(rule, memory_now, tally_now);
  Recorder recorder;
  if (record) held.record_with(recorder, task);
  task.rows = rows.rows;
  const int64_t n_rows = rows.rows.n_rows;
  if (int64_t(labels.size()) != n_rows || (sample_weight && int64_t(sample_weight->size()) != n_rows))
    refuse("X and y differ in length.");
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels.data()[i] < 0 || labels.data()[i] >= held.n_classes) refuse("A label is out of range.");
  if (targets.has_value() != (held.policy == Policy::regression))
    refuse("The policy and targets do not fit each other.");
  if (targets) {
    if (int64_t(targets->size()) != n_rows) refuse("X and y differ in length.");
    for (size_t i = 0; i < targets->size(); ++i)
      if (!std::isfinite(targets->data()[i]))
        refuse("y must be finite; row " + std::to_string(i) + " has " + std::to_string(targets->data()[i]) + ".");
    task.targets = targets->data();
    if ((told && int64_t(told->size()) != n_rows) || (units && int64_t(units->size()) != n_rows))
      refuse("X and y differ in length.");
    task.told = told ? told->data() : nullptr, task.units = units ? units->data() : nullptr;
  }
  if (sample_weight) check_sample_weight({sample_weight->data(), sample_weight->size()});
  if (order) {
    for (size_t i = 0; i < order->size(); ++i)
      if (order->data()[i] < 0 || order->data()[i] >= n_rows) refuse("order names a row that is not there.");
    task.order = order->data();
    task.n_order = int64_t(order->size());
  }
  if (journal && has_factors(held.model.shape)) refuse("A full covariance has no journal.");
  if (cost)
    std::tie(task.cost[0], task.cost[1]) = *cost;
  else
    task.balanced = true;
  if (wrong && int64_t(wrong->size()) != n_rows) refuse("X and y differ in length.");
  task.wrong = wrong ? wrong->data() : nullptr;
  task.labels = labels.data();
  task.sample_weight = sample_weight ? sample_weight->data() : nullptr;
  std::optional<ClassWeights> weights_of_classes;
  if (class_weight)
    weights_of_classes.emplace(std::span(class_weight->data(), class_weight->size()), held.n_classes, task);
  task.shares = shares;
  task.journal = journal;
  {
    LearningScales scales(rows, task);
    const Outcome outcome = held.run(task, /*release=*/true);
    if (outcome.refusal == Refusal::none) scales.keep();
    check(outcome);
  }
  held.refresh(rule);
}

template <bool variance>
void evaluate(const HeldModel& held, const HeldRows& rows, const Scalars& out) {
  held.check_fits(rows.rows);
  if (rows.scales) refuse("These rows are divided only when they are learned from.");
  if (variance && !has_covariance(held.model.shape)) refuse("The shape has no variances.");
  if (int64_t(out.shape(0)) != rows.rows.n_rows || int64_t(out.shape(1)) != held.model.n_heads)
    refuse("out does not fit X and the heads.");
  const Kernels& table = kernels(held.single);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = (variance ? table.variance : table.score)(rows.rows, held.model, held.view(), out.data());
  }
  check(outcome);
}

int64_t nonzero(const Model& model, bool single, const View& view, int64_t first, const NonzeroRoom& room = {}) {
  nb::gil_scoped_release release;
  const int64_t n =
      model.average ? Averaging(model, single).nonzero(first, room) : kernels(single).nonzero(model, view, first, room);
  if (n < 0) throw std::bad_alloc();
  return n;
}

using Nonzeros = std::tuple<NewArray<int64_t>, NewArray<int32_t>, NewArray<double>>;

Nonzeros all_nonzero(const Model& model, bool single, const View& view) {
  const int64_t n = nonzero(model, single, view, 0);
  const bool several = model.n_heads > 1;
  Nonzeros found{new_array<int64_t>(n), new_array<int32_t>(several ? n : 0), new_array<double>(n)};
  auto& [slots, heads, values] = found;
  const NonzeroRoom room{n, slots.data(), several ? heads.data() : nullptr, values.data()};
  if (nonzero(model, single, view, 0, room) != n) throw std::runtime_error("The model was changed while it was read.");
  return found;
}

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<HeldModel> type(
      m, "Model", "A model, whose arrays NumPy owns: `learn` changes them in place, unless they are read-only.");
  type.def(
          "__init__",
          [](HeldModel* self, Shape shape, Policy policy, const AnyArray& weights, const Table<double>& memory,
             const Table<int64_t>& tally, int64_t n_columns, bool intercept, const std::optional<AnyArray>& factors,
             const std::optional<Table<double>>& rounds, const std::optional<AnyRecord>& record, const Extras& extras,
             const HeldAverage& average, const std::optional<Table<double>>& sums) {
            new (self) HeldModel(checked_model(shape, policy, weights, memory, tally, n_columns, intercept, factors,
                                               rounds, record, extras, average, sums));
          },
          "shape"_a, "policy"_a, "weights"_a, "memory"_a, "tally"_a, nb::kw_only(), "n_columns"_a, "intercept"_a,
          "factors"_a.none() = nb::none(), "rounds"_a.none() = nb::none(), "record"_a.none() = nb::none(),
          "extras"_a.none() = nb::none(), "average"_a.none() = nb::none(), "sums"_a.none() = nb::none())
      .def("learn", &learn, "rule"_a, "rows"_a, "labels"_a, nb::kw_only(), "sample_weight"_a.none() = nb::none(),
           "order"_a.none() = nb::none(), "targets"_a.none() = nb::none(), "cost"_a.none() = std::make_tuple(1.0, 1.0),
           "class_weight"_a.none() = nb::none(), "shares"_a = false, "told"_a.none() = nb::none(),
           "units"_a.none() = nb::none(), "journal"_a = false, "record"_a = true, "wrong"_a.none() = nb::none(),
           "Learn from the rows, and count rows seen, mistakes and updates for each class. `cost` is that of the "
           "negative and the positive label, or None to balance them. The weight of a row is multiplied by that of its "
           "class, or with `shares` by what gives each class its share of the rows so far. A loss is that of `told` in "
           "the place of the target, times `units`. With `record` predictions are put on record. With `journal` a "
           "refused row takes everything back; without it the weights are then of no further use.")
      .def("refresh", &HeldModel::refresh, "rule"_a,
           "From now on the weights are those that the rule would predict with in the next round.")
      .def("score", &evaluate<false>, "rows"_a, "out"_a, "out[row, head] = weights . x, without their scale.")
      .def("variance", &evaluate<true>, "rows"_a, "out"_a, "out[row, head] = x'Sx, without the scale of S.")
      .def(
          "nonzero", [](const HeldModel& held) { return all_nonzero(held.model, held.single, held.view()); },
          "The slots, ascending for each head, the heads, if there are more than one, and the values of all nonzero "
          "weights, without their scale.")
      .def(
          "count_nonzero", [](const HeldModel& held) { return nonzero(held.model, held.single, held.view(), 1); },
          "How many weights of all heads are not zero, without the intercepts.")
      .def(
          "choose_anew",
          [](const HeldModel& held, double least) {
            if (!held.budget || !has_budget(held.model.shape)) refuse("The shape has no budget.");
            if (!kernels(held.single).choose_anew(held.model, *held.budget, least)) throw std::bad_alloc();
          },
          "least"_a, "The smallest threshold of its budget that is not below `least`.");
  bind_one(m, type);
  m.def(
      "nonzero_truncated",
      [](const Vector<double>& theta, double threshold, double scale, bool intercept) {
        Model model;
        model.shape = Shape::averaged, model.n_slots = int64_t(theta.size()), model.intercept = intercept;
        model.weights = const_cast<double*>(theta.data());  // only read
        const Round round{.threshold = threshold, .scale = scale};
        const auto [slots, heads, values] = all_nonzero(model, false, {&round, 1});
        return std::make_tuple(slots, values);
      },
      "theta"_a, "threshold"_a, "scale"_a, "intercept"_a,
      "Slots and values of the weights scale soft(theta, threshold) that are not zero; that of the intercept, in slot "
      "0, is not truncated.");
}
