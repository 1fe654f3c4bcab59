// Python sees: checked rows, the margin rules, and three functions over arrays that Python owns.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "dispatch.hpp"
#include "kernels.hpp"
#include "rules.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;

namespace {

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

bool is_single(const Input& array, const char* name) {
  if (array.dtype() == nb::dtype<float>()) return true;
  if (array.dtype() != nb::dtype<double>()) refuse(std::string(name) + " must be an array of float32 or float64.");
  return false;
}

const InstructionSet* g_instruction_set = nullptr;

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

const Kernels& kernels(bool single) { return single ? *g_instruction_set->single : *g_instruction_set->twofold; }

// Rows whose starts were checked when they were made; the loops look at the rest as they go.
struct HeldRows {
  Rows rows;
  std::vector<char> starts;   // a copy of indptr: what was checked stays as it was checked
  std::vector<Input> owners;  // keep the arrays alive
};

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

// What the loops say of a row, in words for Python: nothing, or why it was refused.
const char* name_of(Refusal refusal) {
  static const char* const names[] = {"", "contents", "order", "score", "step", "memory"};
  return names[int(refusal)];
}

// The arrays of a model, checked against each other and against the rows.
template <class Array>
Model checked_model(const std::string& shape, const Array& weights, const std::optional<Array>& factors,
                    int64_t n_heads, bool intercept, const HeldRows& held) {
  Model model;
  int64_t width = 1;
  if (shape == "identity")
    model.shape = Shape::identity;
  else if (shape == "full")
    model.shape = Shape::full;
  else if (shape == "diagonal" || shape == "theta")
    model.shape = shape == "theta" ? Shape::theta : Shape::diagonal, width = 2;
  else
    refuse("shape must be 'identity', 'diagonal', 'theta' or 'full', not '" + shape + "'.");
  const auto dtype = held.rows.single ? nb::dtype<float>() : nb::dtype<double>();
  if (weights.dtype() != dtype || (factors && factors->dtype() != dtype))
    refuse("The model's arrays and X must have the same dtype.");
  if (n_heads < 1 || weights.size() % size_t(n_heads * width) != 0) refuse("weights does not fit n_heads.");
  model.n_heads = n_heads;
  model.n_slots = int64_t(weights.size()) / (n_heads * width);
  if (model.n_slots < held.rows.n_columns + 1) refuse("X has more columns than the model has weights.");
  if (model.shape == Shape::full) {
    if (!factors || int64_t(factors->size()) != n_heads * (model.n_slots * (model.n_slots + 1) / 2))
      refuse("factors does not fit weights.");
    if (model.n_slots != held.rows.n_columns + 1)
      refuse("With a full covariance X must have as many columns as the model.");
    model.factors = const_cast<void*>(static_cast<const void*>(factors->data()));
  }
  model.weights = const_cast<void*>(static_cast<const void*>(weights.data()));  // written only where Array is Output
  model.intercept = intercept;
  return model;
}

using LearnResult = std::tuple<int64_t, std::string>;

LearnResult learn(const Rule& rule, const std::string& shape, const Output& weights,
                  const std::optional<Output>& factors,
                  nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> memory,
                  nb::ndarray<int64_t, nb::shape<3>, nb::c_contig, nb::device::cpu> counters, int64_t n_heads,
                  bool intercept, const std::string& policy, const HeldRows& held, const Vector<int32_t>& labels,
                  const std::optional<Vector<double>>& sample_weight, const std::optional<Vector<int64_t>>& order,
                  bool journal) {
  const Model model = checked_model(shape, weights, factors, n_heads, intercept, held);
  Task task;
  task.rows = held.rows;
  const int64_t n_rows = held.rows.n_rows;
  if (policy == "binary")
    task.policy = Policy::binary;
  else if (policy == "rival")
    task.policy = Policy::rival;
  else if (policy == "ovr")
    task.policy = Policy::one_vs_rest;
  else
    refuse("policy must be 'binary', 'rival' or 'ovr', not '" + policy + "'.");
  if ((task.policy == Policy::binary) != (n_heads == 1)) refuse("policy does not fit n_heads.");
  if (int64_t(memory.shape(1)) != kMemoryColumns ||
      int64_t(memory.shape(0)) != (task.policy == Policy::one_vs_rest ? n_heads : 1))
    refuse("memory does not fit the policy.");
  if (rule.steps_theta != (model.shape == Shape::theta) && model.shape != Shape::full)
    refuse("The rule does not fit the shape.");
  if (rule.tracks_norm && model.shape != Shape::identity) refuse("The rule does not fit the shape.");
  if (int64_t(labels.size()) != n_rows || (sample_weight && int64_t(sample_weight->size()) != n_rows))
    refuse("X and y differ in length.");
  const int32_t n_classes = task.policy == Policy::binary ? 2 : int32_t(n_heads);
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels.data()[i] < 0 || labels.data()[i] >= n_classes) refuse("A label is out of range.");
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
  if (journal && model.shape == Shape::full) refuse("A full covariance has no journal.");
  task.labels = labels.data();
  task.sample_weight = sample_weight ? sample_weight->data() : nullptr;
  task.rule = &rule;
  task.memory = reinterpret_cast<Memory*>(memory.data());
  task.journal = journal;
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = kernels(held.rows.single).learn(task, model);
  }
  if (outcome.refusal == Refusal::none) {  // in the same breath as the weights, whatever signal Python handles next
    counters.data()[0] += outcome.seen;
    counters.data()[1] += outcome.mistakes;
    counters.data()[2] += outcome.updates;
  }
  return {outcome.row, name_of(outcome.refusal)};
}

template <bool variance>
std::tuple<int64_t, std::string> evaluate(const std::string& shape, const Input& weights,
                                          const std::optional<Input>& factors, int64_t n_heads, bool intercept,
                                          const HeldRows& held,
                                          nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
  const Model model = checked_model(shape, weights, factors, n_heads, intercept, held);
  if (int64_t(out.shape(0)) != held.rows.n_rows || int64_t(out.shape(1)) != n_heads)
    refuse("out does not fit X and n_heads.");
  const Kernels& table = kernels(held.rows.single);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = (variance ? table.variance : table.score)(held.rows, model, out.data());
  }
  return {outcome.row, name_of(outcome.refusal)};
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

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of sureline: checked rows, margin rules, and the learning loop.";
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
          [](const Rule& rule, double m_, double v, double weight, double norm2, double k, double c) {
            Memory memory;
            memory.norm2 = norm2, memory.k = k, memory.c = c;
            return rule.active(m_) ? rule.step(m_, v, weight, memory) : Step{};
          },
          "m"_a, "v"_a, nb::kw_only(), "weight"_a = 1.0, "norm2"_a = 0.0, "k"_a = 1.0, "c"_a = 0.1,
          "The step for margin m and variance v; norm2, k and c are what ROMMA, ALMA and IELLIP remember.");

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

  m.def("learn", &learn, "rule"_a, "shape"_a, "weights"_a, "factors"_a.none(), "memory"_a, "counters"_a, "n_heads"_a,
        "intercept"_a, "policy"_a, "rows"_a, "labels"_a, "sample_weight"_a.none(), "order"_a.none(), "journal"_a,
        "Learn from the rows in place, and add to the counters of rows seen, mistakes and updates. Returns (refused "
        "row or -1, "
        "why it was refused).");
  m.def("score", &evaluate<false>, "shape"_a, "weights"_a, "factors"_a.none(), "n_heads"_a, "intercept"_a, "rows"_a,
        "out"_a, "out[row, head] = stored weights . x. Returns (refused row or -1, why it was refused).");
  m.def("variance", &evaluate<true>, "shape"_a, "weights"_a, "factors"_a.none(), "n_heads"_a, "intercept"_a, "rows"_a,
        "out"_a, "out[row, head] = x'Sx. Returns (refused row or -1, why it was refused).");

  m.def("instruction_set", [] { return std::string(g_instruction_set->name); }, "The instruction set whose loops run.");
  m.attr("MEMORY_COLUMNS") = kMemoryColumns;
}
