// What the functions that Python calls have in common: arrays in, checked against each other, a Model for the loops
// out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "loops/dispatch.hpp"
#include "loops/kernels.hpp"
#include "windows/dual_memory.hpp"

namespace sureline::bindings {

namespace nb = nanobind;

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[noreturn]] inline void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

inline bool is_single(const Input& array, const char* name) {
  if (array.dtype() == nb::dtype<float>()) return true;
  if (array.dtype() != nb::dtype<double>()) refuse(std::string(name) + " must be an array of float32 or float64.");
  return false;
}

template <class T>
using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;

template <class T>
NewArray<T> new_array(int64_t size) {
  T* data = new T[static_cast<size_t>(size)];
  return NewArray<T>(data, {size_t(size)}, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}

template <class T>
NewArray<T> as_array(const std::vector<T>& numbers) {
  NewArray<T> array = new_array<T>(int64_t(numbers.size()));
  std::copy(numbers.begin(), numbers.end(), array.data());
  return array;
}

using Counts = nb::ndarray<int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Scalars = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline const InstructionSet* g_instruction_set = nullptr;  // chosen when the module is loaded

inline const Kernels& kernels(bool single) { return single ? *g_instruction_set->single : *g_instruction_set->twofold; }

class Scales;  // held_scales.hpp

// Rows whose starts were checked when they were made; the loops look at the rest as they go.
struct HeldRows {
  Rows rows;
  Scales* scales = nullptr;   // what each row is divided by when it is learned from, or null
  nb::object scales_owner;    // keeps them alive
  std::vector<char> starts;   // a copy of indptr: what was checked stays as it was checked
  std::vector<Input> owners;  // keep the arrays alive
};

// What the loops say of a row, in words for Python: nothing, or why it was refused.
inline const char* name_of(Refusal refusal) {
  static const char* const names[] = {"", "contents", "order", "score", "step", "memory"};
  return names[int(refusal)];
}

inline constexpr std::pair<const char*, Shape> kShapes[] = {{"identity", Shape::identity},
                                                            {"diagonal", Shape::diagonal},
                                                            {"theta", Shape::theta},
                                                            {"full", Shape::full},
                                                            {"averaged", Shape::averaged},
                                                            {"confident", Shape::confident},
                                                            {"confident_full", Shape::confident_full},
                                                            {"adaptive", Shape::adaptive},
                                                            {"proximal", Shape::proximal},
                                                            {"truncated", Shape::truncated},
                                                            {"adaptive_truncated", Shape::adaptive_truncated},
                                                            {"dual", Shape::dual},
                                                            {"dual_counted", Shape::dual_counted},
                                                            {"dual_smoothed", Shape::dual_smoothed},
                                                            {"simplex", Shape::simplex}};

inline Shape shape_named(const std::string& name) {
  for (const auto& [known, shape] : kShapes)
    if (name == known) return shape;
  refuse("There is no shape '" + name + "'.");
}

inline const char* name_of(Shape shape) {
  for (const auto& [name, known] : kShapes)
    if (shape == known) return name;
  return "";
}

// The arrays of a model, checked against each other.
template <class Array>
Model checked_model(const std::string& shape, const Array& weights, const std::optional<Array>& factors,
                    int64_t n_heads, bool intercept) {
  Model model;
  model.shape = shape_named(shape);
  const int64_t width = width_of(model.shape);
  is_single(Input(weights), "weights");
  if (factors && factors->dtype() != weights.dtype()) refuse("The model's arrays must have the same dtype.");
  if (n_heads < 1 || weights.size() % size_t(n_heads * width) != 0) refuse("weights does not fit n_heads.");
  model.n_heads = n_heads;
  model.n_slots = int64_t(weights.size()) / (n_heads * width);
  if (has_factors(model.shape)) {
    if (!factors || int64_t(factors->size()) != n_heads * (model.n_slots * (model.n_slots + 1) / 2))
      refuse("factors does not fit weights.");
    model.factors = const_cast<void*>(static_cast<const void*>(factors->data()));
  }
  model.weights = const_cast<void*>(static_cast<const void*>(weights.data()));  // written only where Array is Output
  model.intercept = intercept;
  return model;
}

// The same, and against the rows.
template <class Array>
Model checked_model(const std::string& shape, const Array& weights, const std::optional<Array>& factors,
                    int64_t n_heads, bool intercept, const HeldRows& held) {
  const Model model = checked_model(shape, weights, factors, n_heads, intercept);
  if (is_single(Input(weights), "weights") != held.rows.single)
    refuse("The model's arrays and X must have the same dtype.");
  if (model.n_slots < held.rows.n_columns + 1) refuse("X has more columns than the model has weights.");
  if (has_factors(model.shape) && model.n_slots != held.rows.n_columns + 1)
    refuse("With a full covariance X must have as many columns as the model.");
  return model;
}

// Whether there is a threshold that a budget could choose.
inline bool has_budget(Shape shape) {
  return shape == Shape::averaged || shape == Shape::adaptive || shape == Shape::confident ||
         shape == Shape::confident_full;
}

// Whether its weights can be selected: there is one number that a feature can be judged by.
inline bool has_selection(Shape shape) { return shape == Shape::identity || shape == Shape::diagonal; }

// What a rule works with besides the numbers of its weights, if anything: a bound on how many are not zero, or the
// memory of a dual rule.
using Beside = std::optional<std::variant<Budget*, Selection*, DualMemory*>>;

inline void set_beside(Task& task, const Beside& beside, const Model& model) {
  task.dual = beside && std::holds_alternative<DualMemory*>(*beside) ? std::get<DualMemory*>(*beside) : nullptr;
  if ((task.dual != nullptr) != (task.dual_rule != nullptr)) refuse("A dual rule has a memory, and no other has one.");
  if (!beside) return;
  if (task.dual) {
    const RowWindow& window = task.dual->window;
    if (int64_t(task.dual->problems.size()) != (task.policy == Policy::one_vs_rest ? model.n_heads : 1))
      refuse("The memory does not fit the policy.");
    if ((window.length > 0) != (task.dual_rule->window == DualRule::Window::sliding))
      refuse("The memory does not fit the window.");
    if (window.columns_beyond() > model.n_slots - 1 || window.heads_beyond() > model.n_heads)
      refuse("The window does not fit the weights.");
    if (model.shape == Shape::simplex && model.n_slots < 2) refuse("A simplex needs a column.");
  } else if (Budget* const* threshold = std::get_if<Budget*>(&*beside)) {
    task.budget = *threshold;
    if (!task.coordinate_rule || !has_budget(model.shape)) refuse("The shape has no budget.");
    if (task.budget->beyond() > model.n_slots * model.n_heads) refuse("budget does not fit weights.");
  } else {
    task.selection = std::get<Selection*>(*beside);
    if (!task.rule || !has_selection(model.shape)) refuse("The shape has no selection.");
    if (task.selection->n_heads() != model.n_heads || task.selection->beyond() > model.n_slots)
      refuse("selection does not fit weights.");
  }
}
inline void checkpoint(const Task& task) {
  if (task.budget) task.budget->checkpoint();
  if (task.selection) task.selection->checkpoint(task.journal);
  if (task.dual) task.dual->checkpoint(task.journal);
}
inline void commit_or_roll_back(const Task& task, bool refused) {
  if (task.budget) refused ? task.budget->roll_back() : task.budget->commit();
  if (task.selection) refused ? task.selection->roll_back() : task.selection->commit();
  if (task.dual) refused ? task.dual->roll_back() : task.dual->commit();
}

// Whether the rule can work on numbers of that shape.
inline bool fits(const Rule& rule, Shape shape) {
  if (rule.tracks_norm) return shape == Shape::identity;
  if (rule.steps_theta) return shape == Shape::theta || shape == Shape::full;
  return shape == Shape::identity || shape == Shape::diagonal || shape == Shape::full;
}
inline bool fits(const CoordinateRule& rule, Shape shape) { return shape == rule.shape; }

inline bool fits(const DualRule& rule, Shape shape) { return shape == rule.shape; }

inline void set_rule(Task& task, const Rule& rule) { task.rule = &rule; }
inline void set_rule(Task& task, const CoordinateRule& rule) { task.coordinate_rule = &rule; }
inline void set_rule(Task& task, const DualRule& rule) { task.dual_rule = &rule; }

inline Policy checked_policy(const std::string& name, int64_t n_heads) {
  Policy policy = Policy::binary;
  if (name == "rival")
    policy = Policy::rival;
  else if (name == "ovr")
    policy = Policy::one_vs_rest;
  else if (name == "regression")
    policy = Policy::regression;
  else if (name != "binary")
    refuse("policy must be 'binary', 'rival', 'ovr' or 'regression', not '" + name + "'.");
  if ((policy == Policy::binary || policy == Policy::regression) != (n_heads == 1))
    refuse("policy does not fit n_heads.");
  return policy;
}

}  // namespace sureline::bindings
