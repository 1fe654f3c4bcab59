// One example at a time: what a call costs besides the learning itself counts here, so the arrays of a model are
// checked once and then kept, and a row is read from whatever Python holds it in.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "arrays_in_place.hpp"
#include "bindings.hpp"
#include "example.hpp"
#include "gate.hpp"
#include "held_scales.hpp"
#include "models.hpp"
#include "row_weights.hpp"
#include "text/murmur.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

using HeldRule = std::variant<nb::pointer_and_handle<Rule>, nb::pointer_and_handle<CoordinateRule>,
                              nb::pointer_and_handle<DualRule>>;

// A model that takes one example at a time. Its arrays belong to a State and are written in place.
class OneByOne {
 public:
  OneByOne(const HeldModel& model, const AnyRuleAt& rule, nb::object rule_owner,
           const std::optional<std::tuple<double, double>>& cost, std::vector<double> class_weight, bool shares,
           int bits, Scales* scales, nb::object scales_owner, Gate* gate, nb::object gate_owner)
      : scratch_(bits),
        model_(model),
        rule_(rule),
        rule_owner_(std::move(rule_owner)),
        scales_owner_(std::move(scales_owner)),
        scales_(scales),
        gate_owner_(std::move(gate_owner)),
        gate_(*gate),
        generation_(gate->generation()),
        n_columns_(model.n_columns),
        bits_(bits),
        single_(model.single),
        class_weight_(std::move(class_weight)) {
    if (bits < 0 || bits > text::Columns::kMostBits) refuse("bits must be from 0 to 30.");
    task_ = model_.task(rule, memory_now_, tally_now_);
    model_.record_with(recorder_, task_);
    if (cost)
      std::tie(task_.cost[0], task_.cost[1]) = *cost;
    else
      task_.balanced = true;
    if (!class_weight_.empty()) {
      check_class_weight(class_weight_, model.n_classes);
      task_.class_weight = class_weight_.data();
    }
    task_.shares = shares;
    // Changes by a refused row are undone; without a journal the caller works on a copy.
    const Shape shape = model_.model.shape;
    task_.journal = !has_factors(shape) && shape != Shape::simplex &&
                    (task_.policy == Policy::one_vs_rest || shape == Shape::confident || task_.dual_rule);
    if (task_.policy == Policy::regression) task_.targets = &target_, task_.told = &told_, task_.units = &unit_;
    task_.labels = &label_;
    task_.sample_weight = &weight_;
  }
  OneByOne(const OneByOne&) = delete;  // the task points into it

  // 0, or the number of columns that the model must have before it can learn from this row, or -1 if the learner has
  // got another model meanwhile.
  int64_t learn(nb::handle x, int32_t label, double weight, double target, std::optional<double> told, double unit) {
    const Gate::Change change(gate_);
    if (is_stale()) return -1;
    if (!std::isfinite(target)) refuse("y must be a finite number. Got " + std::to_string(target) + " instead.");
    if (label < 0 || label >= int32_t(tally_now_.size())) refuse("There is no such class.");
    if (!std::isfinite(weight) || weight < 0)
      refuse("sample_weight must be finite and not negative. Got " + std::to_string(weight) + " instead.");
    label_ = label, target_ = target, told_ = told.value_or(target), unit_ = unit;
    weight_ = class_weight_.empty() || class_weight_[size_t(label)] > 0 ? weight : 0;
    if (const ArraysInPlace arrays(x.ptr(), single_); arrays) {
      if (const auto row = arrays.row(n_columns_, single_, starts_in_place_)) {
        task_.rows = arrays.copied(*row, in_place_);
        const Outcome outcome = learn_rows(arrays.size());
        if (outcome.refusal == Refusal::none) return 0;
        if (outcome.refusal != Refusal::order && outcome.refusal != Refusal::contents) refuse_outcome(outcome);
        // The columns are unordered, or a fault that the careful reading describes.
      }
    }
    const Example& example = scratch_.example;
    scratch_.example.read(x);
    const int64_t width = example.named() ? int64_t(1) << bits_ : example.width();
    if (width > n_columns_) return width;
    task_.rows = rows(scratch_);
    refuse_outcome(learn_rows(example.size()));
    return 0;
  }

  // w.x for each head. Columns that the model does not have count for nothing. None if the learner has got another
  // model meanwhile.
  std::optional<std::vector<double>> scores(nb::handle x) {
    const Gate::Read read(gate_);
    if (is_stale()) return {};
    if (scores_now_) {  // another thread does, or code of the user's while a row is read
      Scratch scratch(bits_);
      return scores(x, scratch);
    }
    const InUse in_use(scores_now_);
    return scores(x, scratch_);
  }

  bool is_stale() const { return generation_ != gate_.generation(); }
  // The model is still that of the learner, who has looked.
  void renew() { generation_ = gate_.generation(); }

 private:
  // Work memory of a call, kept for the next one.
  struct Scratch {
    explicit Scratch(int bits) : example(bits) {}
    Example example;
    int32_t starts[2] = {0, 0};
    std::vector<float> single_values;
    std::vector<double> divided;  // or floats, in half of it
  };
  struct InUse {
    explicit InUse(bool& flag_) : flag(flag_) { flag = true; }
    ~InUse() { flag = false; }
    InUse(const InUse&) = delete;
    bool& flag;
  };

  std::vector<double> scores(nb::handle x, Scratch& scratch) {
    scratch.example.read(x);
    if (!scales_) scratch.example.cut(n_columns_);
    Rows row = rows(scratch);
    if (scales_) {  // of all of its columns
      row.n_columns = kLargestColumn + 1;
      refuse_outcome(normalize(row, false, scratch.example.size(), scratch));
      row.n_columns = n_columns_;
      const auto columns = scratch.example.indices();
      scratch.starts[1] = int32_t(std::lower_bound(columns.begin(), columns.end(), n_columns_) - columns.begin());
    }
    std::vector<double> scores(size_t(model_.model.n_heads));
    refuse_outcome(kernels(single_).score(row, model_.model, model_.view(), scores.data()));
    for (size_t head = 0; head < scores.size(); ++head) scores[head] *= model_.scale_of(int64_t(head));
    return scores;
  }

  // Learns the row in the task, which has n values. A refused row changes nothing.
  Outcome learn_rows(int64_t n) {
    if (scales_)
      if (const Outcome outcome = normalize(task_.rows, true, n, scratch_); outcome.refusal != Refusal::none)
        return outcome;
    const Outcome outcome = model_.run(task_, /*release=*/false);
    if (outcome.refusal == Refusal::none)
      model_.refresh(rule_);
    else if (scales_)
      scales_->undo();
    return outcome;
  }

  // The row divided, in values of our own.
  Outcome normalize(Rows& row, bool absorb, int64_t n, Scratch& scratch) {
    scratch.divided.resize(size_t(n));
    const Outcome outcome = scales_->pass(row, scratch.divided.data(), absorb, nullptr, 0, absorb ? &weight_ : nullptr,
                                          /*undoable=*/true, /*release_gil=*/false);
    row.values = scratch.divided.data();
    return outcome;
  }

  Rows rows(Scratch& scratch) const {
    const Example& example = scratch.example;
    scratch.starts[1] = int32_t(example.size());
    const void* values = example.values().data();
    if (single_) {
      scratch.single_values.assign(example.values().begin(), example.values().end());
      values = scratch.single_values.data();
    }
    return {Rows::Layout::csr32, single_, values, example.indices().data(), scratch.starts, 1, n_columns_, true, true};
  }

  void refuse_outcome(const Outcome& outcome) const {
    if (outcome.refusal == Refusal::none) return;
    if (outcome.refusal == Refusal::memory) throw std::bad_alloc();
    refuse(outcome.refusal == Refusal::contents
               ? "The row has a value that is too large for the dtype of the model."
               : "The row needs a score or a step that the model cannot hold; scale the values so that they are of the "
                 "order of 1, and keep sample_weight and the parameters moderate.");
  }

  Scratch scratch_;
  bool scores_now_ = false;
  const HeldModel model_;
  const AnyRuleAt rule_;
  const nb::object rule_owner_, scales_owner_;  // keep them alive
  Scales* const scales_;                        // or null, if rows are learned from as they are
  const nb::object gate_owner_;
  Gate& gate_;  // of the learner
  int64_t generation_;
  const int64_t n_columns_;
  const int bits_;
  const bool single_;
  const std::vector<double> class_weight_;  // per class, or empty
  Task task_;
  Recorder recorder_;
  int32_t label_ = 0;
  int64_t starts_in_place_[2] = {0, 0};
  double weight_ = 1, target_ = 0, told_ = 0, unit_ = 1;
  std::vector<Memory> memory_now_;
  std::vector<Tally> tally_now_;
  std::vector<char> in_place_;
};

}  // namespace

void sureline::bindings::bind_one(nb::module_& m, nb::class_<HeldModel>& model) {
  m.def(
      "read_row",
      [](nb::handle x, int bits) {
        if (bits < 0 || bits > text::Columns::kMostBits) refuse("bits must be from 0 to 30.");
        Example example(bits);
        example.read(x);
        const auto columns = example.indices();
        const auto values = example.values();
        return std::make_tuple(std::vector(columns.begin(), columns.end()), std::vector(values.begin(), values.end()),
                               example.named());
      },
      "x"_a.none(), "bits"_a, "Columns, ascending, and values of a row, and whether its features are named.");
  nb::class_<OneByOne>(m, "OneByOne", "A model that takes one example at a time, in place.")
      .def("learn", &OneByOne::learn, "x"_a.none(), "label"_a, "weight"_a = 1.0, "target"_a = 0.0,
           "told"_a = nb::none(), "unit"_a = 1.0,
           "Learn from a row. Returns 0, the width that the model needs first, or -1 if the learner has another model.")
      .def(
          "scores", [](OneByOne& one, nb::handle x) { return one.scores(x); }, "x"_a.none(),
          "w.x for each head, or None if the learner has another model.")
      .def("renew", &OneByOne::renew, "The model is still that of the learner, whoever changed it.");
  model.def(
      "one",
      [](const HeldModel& held, const HeldRule& rule, const std::optional<std::tuple<double, double>>& cost,
         std::vector<double> class_weight, bool shares, int bits,
         const std::optional<nb::pointer_and_handle<Scales>>& scales, nb::pointer_and_handle<Gate> gate) {
        const auto [at, owner] =
            std::visit([](const auto& one) { return std::make_pair(AnyRuleAt(one.p), nb::borrow(one.h)); }, rule);
        return std::make_unique<OneByOne>(held, at, owner, cost, std::move(class_weight), shares, bits,
                                          scales ? scales->p : nullptr, scales ? nb::borrow(scales->h) : nb::none(),
                                          gate.p, nb::borrow(gate.h));
      },
      "rule"_a, nb::kw_only(), "cost"_a.none(), "class_weight"_a, "shares"_a, "bits"_a, "scales"_a.none(), "gate"_a,
      "For one example at a time. The rows are divided by the scales, if there are any.");
}
