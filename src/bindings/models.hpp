// Rows and models held by Python: NumPy arrays, checked against each other, for the loops.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "average/average.hpp"
#include "confidence/record.hpp"
#include "loops/dispatch.hpp"
#include "loops/kernels.hpp"
#include "refused.hpp"
#include "windows/dual_memory.hpp"

namespace sureline::bindings {

inline const InstructionSet* g_instruction_set = nullptr;  // chosen when the module is loaded

inline const Kernels& kernels(bool single) { return single ? *g_instruction_set->single : *g_instruction_set->twofold; }

class Scales;  // held_scales.hpp

// Rows whose starts were checked at construction; the loops check the rest.
struct HeldRows {
  Rows rows;
  Scales* scales = nullptr;   // divides rows when they are learned, or null
  nb::object scales_owner;    // keeps them alive
  std::vector<char> starts;   // a private copy of indptr, which stays as checked
  std::vector<char> columns;  // a copy of the indices, or empty
  std::vector<Input> owners;  // keep the arrays alive

  // Copies the columns for users that go over a row twice, so that no other thread can change them.
  void own_columns() {
    if (rows.layout == Rows::Layout::dense || !columns.empty()) return;
    const Input& indices = owners.at(1);
    const char* bytes = static_cast<const char*>(indices.data());
    columns.assign(bytes, bytes + indices.nbytes());
    if (!columns.empty()) rows.indices = columns.data(), rows.steady_indices = true;
  }
};

using AnyRuleAt = std::variant<const Rule*, const CoordinateRule*, const DualRule*>;

// What a rule works with besides the numbers of its weights, if anything: a bound on how many are not zero, or the
// memory of a dual rule.
using Extras = std::optional<std::variant<nb::pointer_and_handle<Budget>, nb::pointer_and_handle<Selection>,
                                          nb::pointer_and_handle<DualMemory>>>;

inline void check_policy(Policy policy, int64_t n_heads) {
  if ((policy == Policy::binary || policy == Policy::regression) != (n_heads == 1))
    refuse("policy does not fit n_heads.");
}

// The average of the weights, if predictions are made with it.
using HeldAverage = std::optional<nb::pointer_and_handle<Average>>;

// A record, an array that is written in place.
using NumbersOfRecord = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void check_record(const NumbersOfRecord& record) {
  if (int64_t(record.size()) != record::kSize) refuse("A record does not have as many numbers.");
}

// A model: arrays that Python owns, in which the loops learn in place.
struct HeldModel {
  Model model;
  Policy policy = Policy::binary;
  int64_t n_columns = 0, n_problems = 1, n_classes = 2;
  bool single = false, writeable = false;
  Memory* memory = nullptr;  // n_problems
  Tally* tally = nullptr;    // n_classes
  Round* rounds = nullptr;   // n_problems, or null for the shapes of the margin rules
  double* record = nullptr;  // or null, if nothing is recorded
  Budget* budget = nullptr;
  Selection* selection = nullptr;
  DualMemory* dual = nullptr;
  std::vector<Input> arrays;  // keep the pointers valid, like the extras
  nb::object extras, average;

  View view() const { return {rounds, rounds ? n_problems : 0}; }
  void check_writeable() const {
    if (!writeable) refuse("The arrays of the model are read-only.");
  }
  void check_fits(const Rows& rows) const;

  // A task for the rule, which works on these copies of the scalars: they are put in place only if all goes well.
  Task task(const AnyRuleAt& rule, std::vector<Memory>& memory_now, std::vector<Tally>& tally_now) const;
  // With a recorder if it has a record.
  void record_with(Recorder& recorder, Task& task) const { task.recorder = record ? &recorder : nullptr; }
  // One run of the loop: all of it, or nothing but (without a journal) the weights. Without the lock of the interpreter
  // if `release`.
  Outcome run(const Task& task, bool release) const;
  // The factor of a score that Kernels::score gives.
  double scale_of(int64_t head) const { return model.average ? 1.0 : memory[n_problems > 1 ? head : 0].weight_scale; }
  // Sets the weights to those with which the rule would predict in the next round.
  void refresh(const AnyRuleAt& rule) const;
};

// A rule's data besides weights (extras.cpp): checks them, and saves or restores them in a run that may be refused.
void check_extras(const Task& task, const HeldModel& held);
void checkpoint(const Task& task, const Model& model);
void commit_or_roll_back(const Task& task, const Model& model, bool refused);
void hold_average(HeldModel& held, const HeldAverage& average, const std::optional<Input>& sums);

void bind_one(nb::module_& m, nb::class_<HeldModel>& model);  // one.cpp

}  // namespace sureline::bindings
