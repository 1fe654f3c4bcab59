// Python sees: checked rows, the rules, and functions over arrays that Python owns.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "held_scales.hpp"
#include "loops/dispatch.hpp"
#include "loops/kernels.hpp"
#include "models.hpp"
#include "rows/check.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

// The widest that this machine has, or the one that the environment names.
void choose_instruction_set() {
  const InstructionSet* sets = instruction_sets();
  const char* wanted = std::getenv("SURELINE_INSTRUCTION_SET");
  for (int i = 0; i < kInstructionSets; ++i)
    if (sets[i].available && (!wanted || !*wanted || std::string(wanted) == sets[i].name)) g_instruction_set = &sets[i];
  if (!g_instruction_set)
    throw nb::import_error(("SURELINE_INSTRUCTION_SET is '" + std::string(wanted) +
                            "', which this machine or this build does not have; "
                            "'baseline' always works.")
                               .c_str());
}

HeldRows dense_rows(const Input& X) {
  if (X.ndim() != 2) refuse("X must have two dimensions.");
  HeldRows held;
  held.owners = {X};
  held.rows = {Rows::Layout::dense, is_single(X, "X"),  X.data(), nullptr, nullptr,
               int64_t(X.shape(0)), int64_t(X.shape(1))};
  return held;
}

HeldRows csr_rows(const Input& values, const Input& indices, const Input& indptr, int64_t n_rows, int64_t n_columns) {
  const std::string prefix = "Input X is not a valid CSR matrix: ";
  if (values.ndim() != 1 || indices.ndim() != 1 || indptr.ndim() != 1)
    refuse(prefix + "its arrays must have one dimension.");
  const bool wide = indices.dtype() == nb::dtype<int64_t>();
  if (indices.dtype() != indptr.dtype() || (!wide && indices.dtype() != nb::dtype<int32_t>()))
    refuse(prefix + "indices and indptr must both be int32 or both int64.");
  if (n_columns < 0 || n_columns > (int64_t(1) << 60) || n_rows < 0 || int64_t(indptr.size()) != n_rows + 1)
    refuse(prefix + "indptr has " + std::to_string(indptr.size()) + " entries for " + std::to_string(n_rows) +
           " rows; it needs one more than there are rows.");
  HeldRows held;
  held.owners = {values, indices, indptr};
  held.rows = {wide ? Rows::Layout::csr64 : Rows::Layout::csr32,
               is_single(values, "X"),
               values.data(),
               indices.data(),
               indptr.data(),
               n_rows,
               n_columns};
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

bool has_variance(Shape shape) {
  return shape == Shape::identity || shape == Shape::diagonal || shape == Shape::theta || shape == Shape::confident ||
         has_factors(shape);
}

using LearnResult = std::tuple<int64_t, std::string>;

template <class AnyOfRules>
LearnResult learn(const AnyOfRules& rule, const std::string& shape, const Output& weights,
                  const std::optional<Output>& factors, Scalars memory, Counts tally, const Beside& beside,
                  int64_t n_heads, bool intercept, const std::string& policy,
                  const std::optional<std::tuple<double, double>>& cost, const HeldRows& held,
                  const Vector<int32_t>& labels, const std::optional<Vector<double>>& sample_weight,
                  const std::optional<Vector<int64_t>>& order, bool journal,
                  const std::optional<Vector<double>>& targets) {
  const Model model = checked_model(shape, weights, factors, n_heads, intercept, held);
  if (!fits(rule, model.shape)) refuse("The rule does not fit the shape.");
  Task task;
  set_rule(task, rule);
  task.rows = held.rows;
  const int64_t n_rows = held.rows.n_rows;
  task.policy = checked_policy(policy, n_heads);
  const int64_t n_problems = task.policy == Policy::one_vs_rest ? n_heads : 1;
  if (int64_t(memory.shape(1)) != kMemoryColumns || int64_t(memory.shape(0)) != n_problems)
    refuse("memory does not fit the policy.");
  const int32_t n_classes = n_heads == 1 ? 2 : int32_t(n_heads);
  if (int64_t(tally.shape(1)) * int64_t(sizeof(int64_t)) != int64_t(sizeof(Tally)) ||
      int64_t(tally.shape(0)) != n_classes)
    refuse("tally does not fit the classes.");
  if (int64_t(labels.size()) != n_rows || (sample_weight && int64_t(sample_weight->size()) != n_rows))
    refuse("X and y differ in length.");
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels.data()[i] < 0 || labels.data()[i] >= n_classes) refuse("A label is out of range.");
  if (targets.has_value() != (task.policy == Policy::regression) || (targets && !task.dual_rule))
    refuse("The policy and targets do not fit each other.");
  if (targets) {
    if (int64_t(targets->size()) != n_rows) refuse("X and y differ in length.");
    for (size_t i = 0; i < targets->size(); ++i)
      if (!std::isfinite(targets->data()[i]))
        refuse("y must be finite; row " + std::to_string(i) + " has " + std::to_string(targets->data()[i]) + ".");
    task.targets = targets->data();
  }
  if (sample_weight)
    for (size_t i = 0; i < sample_weight->size(); ++i)
      if (!std::isfinite(sample_weight->data()[i]) || sample_weight->data()[i] < 0)
        refuse("sample_weight must be finite and not negative; row " + std::to_string(i) + " has " +
               std::to_string(sample_weight->data()[i]) + ".");
  if (order) {
    for (size_t i = 0; i < order->size(); ++i)
      if (order->data()[i] < 0 || order->data()[i] >= n_rows) refuse("order names a row that is not there.");
    task.order = order->data();
    task.n_order = int64_t(order->size());
  }
  if (journal && has_factors(model.shape)) refuse("A full covariance has no journal.");
  if (cost)
    std::tie(task.cost[0], task.cost[1]) = *cost;
  else
    task.balanced = true;
  task.labels = labels.data();
  task.sample_weight = sample_weight ? sample_weight->data() : nullptr;
  task.journal = journal;
  LearningScales scales(held, task);

  // The scalars are worked on in copies, and put in place only if all went well and in the same breath as the weights,
  // whatever signal Python handles next.
  std::vector<Memory> memory_now(static_cast<size_t>(n_problems));
  std::memcpy(static_cast<void*>(memory_now.data()), memory.data(), memory.nbytes());
  std::vector<Tally> tally_now(static_cast<size_t>(n_classes));
  std::memcpy(static_cast<void*>(tally_now.data()), tally.data(), tally.nbytes());
  set_beside(task, beside, model);
  checkpoint(task);
  task.memory = memory_now.data();
  task.tally = tally_now.data();
  Outcome outcome;
  try {
    nb::gil_scoped_release release;
    outcome = kernels(held.rows.single).learn(task, model);
  } catch (...) {  // no memory for what is beside the weights
    commit_or_roll_back(task, true);
    throw;
  }
  commit_or_roll_back(task, outcome.refusal != Refusal::none);
  if (outcome.refusal == Refusal::none) {
    scales.keep();
    std::memcpy(memory.data(), static_cast<const void*>(memory_now.data()), memory.nbytes());
    std::memcpy(tally.data(), static_cast<const void*>(tally_now.data()), tally.nbytes());
  }
  return {outcome.row, name_of(outcome.refusal)};
}

// What weights are computed with: a Round for each problem, or nothing for the shapes of the margin rules.
View checked_view(const std::optional<std::vector<Round>>& rounds, Shape shape, int64_t n_heads) {
  if (rounds.has_value() != (shape >= Shape::averaged)) refuse("rounds does not fit the shape.");
  if (!rounds) return {};
  if (rounds->size() != 1 && int64_t(rounds->size()) != n_heads) refuse("rounds does not fit n_heads.");
  return {rounds->data(), int64_t(rounds->size())};
}

template <bool variance>
std::tuple<int64_t, std::string> evaluate(const std::string& shape, const Input& weights,
                                          const std::optional<Input>& factors, int64_t n_heads, bool intercept,
                                          const std::optional<std::vector<Round>>& rounds, const HeldRows& held,
                                          Scalars out) {
  const Model model = checked_model(shape, weights, factors, n_heads, intercept, held);
  const View view = checked_view(rounds, model.shape, n_heads);
  if (held.scales) refuse("These rows are divided only when they are learned from.");
  if (variance && !has_variance(model.shape)) refuse("The shape has no variances.");
  if (int64_t(out.shape(0)) != held.rows.n_rows || int64_t(out.shape(1)) != n_heads)
    refuse("out does not fit X and n_heads.");
  const Kernels& table = kernels(held.rows.single);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = (variance ? table.variance : table.score)(held.rows, model, view, out.data());
  }
  return {outcome.row, name_of(outcome.refusal)};
}

int64_t nonzero(const std::string& shape, const Input& weights, const std::optional<Input>& factors, int64_t n_heads,
                bool intercept, const std::optional<std::vector<Round>>& rounds, int64_t first, int64_t* slots,
                int32_t* heads, double* values) {
  const Model model = checked_model(shape, weights, factors, n_heads, intercept);
  const View view = checked_view(rounds, model.shape, n_heads);
  nb::gil_scoped_release release;
  const int64_t n = kernels(is_single(weights, "weights")).nonzero(model, view, first, slots, heads, values);
  if (n < 0) throw std::bad_alloc();
  return n;
}

int64_t count_nonzero(const std::string& shape, const Input& weights, const std::optional<Input>& factors,
                      int64_t n_heads, bool intercept, const std::optional<std::vector<Round>>& rounds) {
  return nonzero(shape, weights, factors, n_heads, intercept, rounds, 1, nullptr, nullptr, nullptr);
}

using Nonzeros = std::tuple<NewArray<int64_t>, NewArray<int32_t>, NewArray<double>>;

Nonzeros all_nonzero(const std::string& shape, const Input& weights, const std::optional<Input>& factors,
                     int64_t n_heads, bool intercept, const std::optional<std::vector<Round>>& rounds) {
  const int64_t n = nonzero(shape, weights, factors, n_heads, intercept, rounds, 0, nullptr, nullptr, nullptr);
  NewArray<int64_t> slots = new_array<int64_t>(n);
  NewArray<int32_t> heads = new_array<int32_t>(n_heads > 1 ? n : 0);
  NewArray<double> values = new_array<double>(n);
  nonzero(shape, weights, factors, n_heads, intercept, rounds, 0, slots.data(), n_heads > 1 ? heads.data() : nullptr,
          values.data());
  return {slots, heads, values};
}

Loss loss_named(const std::string& name) {
  if (name == "hinge") return Loss::hinge;
  if (name == "squared_hinge") return Loss::squared_hinge;
  if (name == "log") return Loss::log;
  refuse("loss must be 'hinge', 'squared_hinge' or 'log', not '" + name + "'.");
}

rules::Schedule schedule_named(const std::string& name) {
  if (name == "constant") return rules::Schedule::constant;
  if (name == "1/t") return rules::Schedule::inverse;
  if (name == "t") return rules::Schedule::linear;
  refuse("schedule must be 'constant', '1/t' or 't', not '" + name + "'.");
}

rules::OGD::Form form_named(const std::string& name) {
  if (name == "slope") return rules::OGD::Form::slope;
  if (name == "margin") return rules::OGD::Form::margin;
  refuse("form must be 'slope' or 'margin', not '" + name + "'.");
}

rules::PA::Variant pa_variant(const std::string& name) {
  if (name == "hard") return rules::PA::Variant::hard;
  if (name == "I") return rules::PA::Variant::I;
  if (name == "II") return rules::PA::Variant::II;
  refuse("variant must be 'hard', 'I' or 'II', not '" + name + "'.");
}

rules::SCW::Variant scw_variant(const std::string& name) {
  if (name == "I") return rules::SCW::Variant::I;
  if (name == "II") return rules::SCW::Variant::II;
  refuse("variant must be 'I' or 'II', not '" + name + "'.");
}

template <class R>
nb::class_<AnyRule<R>, Rule> bind_rule(nb::module_& m, const char* name) {
  return nb::class_<AnyRule<R>, Rule>(m, name);
}

// A coordinate rule with its parameters in the order of the struct, and its loss last.
template <class R, class... Parameters, class... Arguments>
void bind_coordinate_rule(nb::module_& m, const char* name, R (*make)(Parameters...), const char* loss,
                          const Arguments&... arguments) {
  nb::class_<AnyCoordinateRule<R>, CoordinateRule>(m, name).def(
      "__init__",
      [make](AnyCoordinateRule<R>* self, Parameters... parameters, const std::string& loss_) {
        new (self) AnyCoordinateRule<R>(make(parameters...), loss_named(loss_));
      },
      arguments..., "loss"_a = loss);
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of sureline: checked rows, rules, and the learning loops.";
  nb::set_leak_warnings(false);  // a rule that lives as long as the interpreter is nobody's mistake
  choose_instruction_set();

  nb::class_<Step>(m, "Step", "Coefficients of w <- kappa w + alpha y S x and S <- gamma (S - beta (S x)(S x)').")
      .def_ro("alpha", &Step::alpha)
      .def_ro("beta", &Step::beta)
      .def_ro("u", &Step::u, "x'Sx after the step, before gamma.")
      .def_ro("kappa", &Step::kappa)
      .def_ro("gamma", &Step::gamma)
      .def_ro("norm2", &Step::norm2, "|w|^2 after the step, from the rules that track it.")
      .def("__repr__", [](const Step& step) {
        return "Step(alpha=" + std::to_string(step.alpha) + ", beta=" + std::to_string(step.beta) +
               ", u=" + std::to_string(step.u) + ", kappa=" + std::to_string(step.kappa) +
               ", gamma=" + std::to_string(step.gamma) + ")";
      });

  nb::class_<Rule>(m, "Rule",
                   "A margin rule: from the margin and the variance of an example to the coefficients of the step.")
      .def("active", &Rule::active, "m"_a, "False if a margin m means no step, whatever the variance.")
      .def(
          "step",
          [](const Rule& rule, double m_, double v, double weight, double cost, double norm2, double k, double c,
             double t) {
            Memory memory;
            memory.norm2 = norm2, memory.k = k, memory.c = c, memory.t = t;
            return rule.active(m_) ? rule.step(m_, v, weight, cost, memory) : Step{};
          },
          "m"_a, "v"_a, nb::kw_only(), "weight"_a = 1.0, "cost"_a = 1.0, "norm2"_a = 0.0, "k"_a = 1.0, "c"_a = 0.1,
          "t"_a = 1.0,
          "The step for margin m and variance v. `cost` goes with the label (for PAUM it is the label's margin); "
          "norm2, k, c and t are what ROMMA, ALMA, FOFS, IELLIP and OGD remember.");

  bind_rule<rules::Perceptron>(m, "Perceptron").def("__init__", [](AnyRule<rules::Perceptron>* self) {
    new (self) AnyRule<rules::Perceptron>({});
  });
  bind_rule<rules::PA>(m, "PA").def(
      "__init__",
      [](AnyRule<rules::PA>* self, const std::string& variant, double C) {
        new (self) AnyRule<rules::PA>({pa_variant(variant), C});
      },
      "variant"_a = "I", "C"_a = 1.0);
  bind_rule<rules::ROMMA>(m, "ROMMA")
      .def(
          "__init__",
          [](AnyRule<rules::ROMMA>* self, bool aggressive) { new (self) AnyRule<rules::ROMMA>({aggressive}); },
          "aggressive"_a = false);
  bind_rule<rules::ALMA>(m, "ALMA").def(
      "__init__",
      [](AnyRule<rules::ALMA>* self, double alpha, double B, double C) {
        new (self) AnyRule<rules::ALMA>({alpha, B, C});
      },
      "alpha"_a = 0.9, "B"_a = 1 / 0.9, "C"_a = 1.4142135623730951);
  bind_rule<rules::FOFS>(m, "FOFS").def(
      "__init__",
      [](AnyRule<rules::FOFS>* self, double eta, double lam) { new (self) AnyRule<rules::FOFS>({eta, lam}); },
      "eta"_a = 0.2, "lam"_a = 0.01);
  bind_rule<rules::SOP>(m, "SOP").def("__init__",
                                      [](AnyRule<rules::SOP>* self) { new (self) AnyRule<rules::SOP>({}); });
  bind_rule<rules::IELLIP>(m, "IELLIP")
      .def(
          "__init__", [](AnyRule<rules::IELLIP>* self, double b) { new (self) AnyRule<rules::IELLIP>({b}); },
          "b"_a = 0.3);
  bind_rule<rules::AROW>(m, "AROW").def(
      "__init__", [](AnyRule<rules::AROW>* self, double r) { new (self) AnyRule<rules::AROW>({r}); }, "r"_a = 1.0);
  bind_rule<rules::NAROW>(m, "NAROW")
      .def(
          "__init__", [](AnyRule<rules::NAROW>* self, double b) { new (self) AnyRule<rules::NAROW>({b}); },
          "b"_a = 1.0);
  bind_rule<rules::NHERD>(m, "NHERD")
      .def(
          "__init__", [](AnyRule<rules::NHERD>* self, double C) { new (self) AnyRule<rules::NHERD>({C}); },
          "C"_a = 1.0);
  bind_rule<rules::SCW>(m, "SCW").def(
      "__init__",
      [](AnyRule<rules::SCW>* self, const std::string& variant, double C, double phi) {
        new (self) AnyRule<rules::SCW>(rules::SCW{scw_variant(variant), C, phi});
      },
      "variant"_a = "I", "C"_a = 1.0, "phi"_a = 0.6744897501960817);

  bind_rule<rules::OGD>(m, "OGD").def(
      "__init__",
      [](AnyRule<rules::OGD>* self, double eta, double power_t, const std::string& loss, const std::string& form) {
        new (self) AnyRule<rules::OGD>({eta, power_t, loss_named(loss), form_named(form)});
      },
      "eta"_a = 1.0, "power_t"_a = 0.5, "loss"_a = "hinge", "form"_a = "slope");
  bind_rule<rules::CPA>(m, "CPA").def(
      "__init__", [](AnyRule<rules::CPA>* self, double C) { new (self) AnyRule<rules::CPA>({C}); }, "C"_a = 1.0);
  bind_rule<rules::PAUM>(m, "PAUM").def(
      "__init__", [](AnyRule<rules::PAUM>* self, double eta) { new (self) AnyRule<rules::PAUM>({eta}); },
      "eta"_a = 1.0);

  nb::class_<Round>(m, "Round", "What all coordinates share in one round of a coordinate rule.")
      .def(
          "__init__",
          [](Round* self, double eta, double threshold, double scale, double delta, double limit, double r,
             double cut) { new (self) Round{eta, threshold, scale, delta, limit, r, cut}; },
          "eta"_a, "threshold"_a, "scale"_a, "delta"_a, "limit"_a, "r"_a, "cut"_a)
      .def_ro("eta", &Round::eta)
      .def_rw("threshold", &Round::threshold)
      .def_ro("scale", &Round::scale)
      .def_ro("delta", &Round::delta)
      .def_ro("limit", &Round::limit)
      .def_ro("r", &Round::r)
      .def_ro("cut", &Round::cut, "By how much the round truncates.")
      .def("copy", [](const Round& round) { return Round(round); })
      .def("__getstate__",
           [](const Round& round) {
             return std::make_tuple(round.eta, round.threshold, round.scale, round.delta, round.limit, round.r,
                                    round.cut);
           })
      .def("__setstate__",
           [](Round& round, const std::tuple<double, double, double, double, double, double, double>& state) {
             new (&round) Round;
             std::tie(round.eta, round.threshold, round.scale, round.delta, round.limit, round.r, round.cut) = state;
           });
  nb::class_<CoordinateRule>(m, "CoordinateRule", "A rule of the sparse online learning framework.")
      .def("round", &CoordinateRule::round, "t"_a, "cut"_a = 0.0,
           "What the prediction in round t goes by, and the step after it, if `cut` was cut in the rounds before.")
      .def_prop_ro("shape", [](const CoordinateRule& rule) { return std::string(name_of(rule.shape)); });
  bind_coordinate_rule(
      m, "FSOL",
      +[](double eta, double lam, std::string schedule) { return rules::FSOL{eta, lam, schedule_named(schedule)}; },
      "hinge", "eta"_a = 1.0, "lam"_a = 0.0, "schedule"_a = "constant");
  bind_coordinate_rule(
      m, "SSOL",
      +[](double eta, double lam, double r, std::string schedule, bool full) {
        return rules::SSOL{eta, lam, r, schedule_named(schedule), full ? Shape::confident_full : Shape::confident};
      },
      "hinge", "eta"_a = 1.0, "lam"_a = 0.0, "r"_a = 1.0, "schedule"_a = "1/t", "full"_a = false);
  bind_coordinate_rule(
      m, "RDA", +[](double gamma, double lam, double rho) { return rules::RDA{gamma, lam, rho}; }, "hinge",
      "gamma"_a = 1.0, "lam"_a = 0.0, "rho"_a = 0.0);
  bind_coordinate_rule(
      m, "AdaRDA", +[](double eta, double lam, double delta) { return rules::AdaRDA{eta, lam, delta}; }, "hinge",
      "eta"_a = 1.0, "lam"_a = 0.0, "delta"_a = 1.0);
  bind_coordinate_rule(
      m, "FTRL", +[](double alpha, double beta, double l1, double l2) { return rules::FTRL{alpha, beta, l1, l2}; },
      "log", "alpha"_a = 0.1, "beta"_a = 1.0, "l1"_a = 1.0, "l2"_a = 1.0);
  bind_coordinate_rule(
      m, "STG", +[](double eta, double lam, double K, double theta) { return rules::STG{eta, lam, K, theta}; }, "hinge",
      "eta"_a = 1.0, "lam"_a = 0.0, "K"_a = 10.0, "theta"_a = std::numeric_limits<double>::infinity());
  bind_coordinate_rule(
      m, "FOBOS", +[](double eta, double lam) { return rules::FOBOS{eta, lam}; }, "hinge", "eta"_a = 1.0,
      "lam"_a = 0.0);
  bind_coordinate_rule(
      m, "AdaFOBOS", +[](double eta, double lam, double delta) { return rules::AdaFOBOS{eta, lam, delta}; }, "hinge",
      "eta"_a = 1.0, "lam"_a = 0.0, "delta"_a = 1.0);

  nb::class_<HeldRows>(m, "Rows", "Rows in memory. What is inside them is checked by whoever goes over them.")
      .def_static("dense", &dense_rows, "X"_a)
      .def_static("csr", &csr_rows, "values"_a, "indices"_a, "indptr"_a, "n_rows"_a, "n_columns"_a)
      .def(
          "describe",
          [](const HeldRows& held, int64_t row) {
            if (row < 0 || row >= held.rows.n_rows) refuse("There is no such row.");
            return describe_row(held.rows, row);
          },
          "row"_a, "What is wrong with the contents of a row.")
      .def_prop_ro("n_rows", [](const HeldRows& held) { return held.rows.n_rows; })
      .def_prop_ro("n_columns", [](const HeldRows& held) { return held.rows.n_columns; });

  const auto bind_learn = [&m](auto function) {
    m.def("learn", function, "rule"_a, "shape"_a, "weights"_a, "factors"_a.none(), "memory"_a, "tally"_a,
          "beside"_a.none(), "n_heads"_a, "intercept"_a, "policy"_a, "cost"_a.none(), "rows"_a, "labels"_a,
          "sample_weight"_a.none(), "order"_a.none(), "journal"_a, "targets"_a.none() = nb::none(),
          "Learn from the rows in place, and count rows seen, mistakes and updates for each class. `cost` is that of "
          "the negative and the positive label, or None to balance them. Returns (refused row or -1, why it was "
          "refused).");
  };
  bind_learn(&learn<Rule>);
  bind_learn(&learn<CoordinateRule>);
  bind_learn(&learn<DualRule>);
  m.def("score", &evaluate<false>, "shape"_a, "weights"_a, "factors"_a.none(), "n_heads"_a, "intercept"_a,
        "rounds"_a.none(), "rows"_a, "out"_a,
        "out[row, head] = weights . x. Returns (refused row or -1, why it was refused).");
  m.def("variance", &evaluate<true>, "shape"_a, "weights"_a, "factors"_a.none(), "n_heads"_a, "intercept"_a,
        "rounds"_a.none(), "rows"_a, "out"_a,
        "out[row, head] = x'Sx. Returns (refused row or -1, why it was refused).");
  m.def("nonzero", &all_nonzero, "shape"_a, "weights"_a, "factors"_a.none(), "n_heads"_a, "intercept"_a,
        "rounds"_a.none(),
        "The slots, ascending for each head, the heads, if there are more than one, and the values of all nonzero "
        "weights, in one look at them.");
  m.def("count_nonzero", &count_nonzero, "shape"_a, "weights"_a, "factors"_a.none(), "n_heads"_a, "intercept"_a,
        "rounds"_a.none(), "How many weights of all heads are not zero, without the intercepts.");

  bind_mapped(m);
  bind_budgets(m);
  bind_online_dual(m);
  bind_parsers(m);
  bind_hashing(m);
  bind_one(m);
  bind_whitened(m);
  bind_dual_ascent(m);
  bind_finite_dual(m);
  bind_groups(m);
  bind_scales(m);
  bind_columns(m);

  m.def("instruction_set", [] { return std::string(g_instruction_set->name); }, "The instruction set whose loops run.");
  m.attr("MEMORY_COLUMNS") = kMemoryColumns;
}
