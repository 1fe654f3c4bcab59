// One example at a time: what a call costs besides the learning itself counts here, so the arrays of a model are
// checked once and then kept, and a row is read from whatever Python holds it in.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "arrays_in_place.hpp"
#include "bindings.hpp"
#include "example.hpp"
#include "held_scales.hpp"
#include "models.hpp"
#include "text/murmur.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

// A model that takes one example at a time. The arrays are those of a State, and are written in place.
class OneByOne {
 public:
  OneByOne(nb::object rule, const std::string& shape, const Output& weights, const std::optional<Output>& factors,
           const Scalars& memory, const Counts& tally, nb::object beside, int64_t n_columns, int64_t n_heads,
           bool intercept, const std::string& policy, const std::optional<std::tuple<double, double>>& cost,
           nb::object rounds, int bits, nb::object scales)
      : example_(bits),
        rule_(rule),
        beside_(beside),
        rounds_(rounds),
        scales_owner_(scales),
        weights_(weights),
        factors_(factors),
        memory_(memory),
        tally_(tally),
        n_columns_(n_columns),
        bits_(bits) {
    if (bits < 0 || bits > text::Columns::kMostBits) refuse("bits must be from 0 to 30.");
    model_ = checked_model(shape, weights, factors, n_heads, intercept);
    single_ = is_single(Input(weights), "weights");
    task_.policy = checked_policy(policy, n_heads);
    if (n_columns < 0 || n_columns + 1 > model_.n_slots ||
        (has_factors(model_.shape) && n_columns + 1 != model_.n_slots))
      refuse("n_columns does not fit weights.");
    if (nb::isinstance<Rule>(rule)) {
      task_.rule = nb::cast<const Rule*>(rule);
      if (!fits(*task_.rule, model_.shape)) refuse("The rule does not fit the shape.");
    } else if (nb::isinstance<DualRule>(rule)) {
      task_.dual_rule = nb::cast<const DualRule*>(rule);
      if (!fits(*task_.dual_rule, model_.shape)) refuse("The rule does not fit the shape.");
    } else {
      task_.coordinate_rule = nb::cast<const CoordinateRule*>(rule);
      if (!fits(*task_.coordinate_rule, model_.shape)) refuse("The rule does not fit the shape.");
    }
    const int64_t n_problems = task_.policy == Policy::one_vs_rest ? n_heads : 1;
    const int64_t n_classes = n_heads == 1 ? 2 : n_heads;
    if (int64_t(memory.shape(1)) != kMemoryColumns || int64_t(memory.shape(0)) != n_problems ||
        int64_t(tally.shape(1)) * int64_t(sizeof(int64_t)) != int64_t(sizeof(Tally)) ||
        int64_t(tally.shape(0)) != n_classes)
      refuse("memory or tally do not fit the policy.");
    memory_now_.resize(size_t(n_problems)), tally_now_.resize(size_t(n_classes));
    scores_.resize(size_t(n_heads));
    set_beside(task_, nb::cast<Beside>(beside), model_);
    if (rounds.is_none() != (model_.shape < Shape::averaged)) refuse("rounds does not fit the shape.");
    if (!rounds.is_none()) {
      for (nb::handle round : rounds) round_of_.push_back(nb::cast<Round*>(round));
      if (int64_t(round_of_.size()) != n_problems) refuse("rounds does not fit the policy.");
    }
    if (cost)
      std::tie(task_.cost[0], task_.cost[1]) = *cost;
    else
      task_.balanced = true;
    // What a refused row would leave behind is taken back; where there is no journal, whoever calls works on a copy.
    task_.journal = !has_factors(model_.shape) && model_.shape != Shape::simplex &&
                    (task_.policy == Policy::one_vs_rest || model_.shape == Shape::confident || task_.dual_rule);
    if (task_.policy == Policy::regression) task_.targets = &target_;
    if (!scales.is_none()) scales_ = nb::cast<Scales*>(scales);
    task_.labels = &label_;
    task_.sample_weight = &weight_;
    task_.memory = memory_now_.data(), task_.tally = tally_now_.data();
  }

  // 0, or the number of columns that the model must have before it can learn from this row.
  int64_t learn(nb::handle x, int32_t label, double weight, double target) {
    if (!std::isfinite(target)) refuse("y must be a finite number. Got " + std::to_string(target) + " instead.");
    if (label < 0 || label >= int32_t(tally_now_.size())) refuse("There is no such class.");
    if (!std::isfinite(weight) || weight < 0)
      refuse("sample_weight must be finite and not negative. Got " + std::to_string(weight) + " instead.");
    label_ = label, weight_ = weight, target_ = target;
    if (const ArraysInPlace arrays(x.ptr(), single_); arrays) {
      if (const auto row = arrays.row(n_columns_, single_, starts_in_place_)) {
        task_.rows = *row;
        const Outcome outcome = learn_rows(arrays.size());
        if (outcome.refusal == Refusal::none) return 0;
        if (outcome.refusal != Refusal::order && outcome.refusal != Refusal::contents) refuse_outcome(outcome);
        // Columns in another order, or something wrong that is described when the row is read with care.
      }
    }
    example_.read(x);
    const int64_t width = width_asked();
    if (width > n_columns_) return width;
    task_.rows = rows();
    refuse_outcome(learn_rows(example_.size()));
    return 0;
  }

  // w.x for each head, without the scales. Columns that the model does not have count for nothing.
  std::vector<double> scores(nb::handle x) {
    example_.read(x);
    if (!scales_) example_.cut(n_columns_);
    rounds_now_.clear();
    for (const Round* round : round_of_) rounds_now_.push_back(*round);
    const View view{rounds_now_.data(), int64_t(rounds_now_.size())};
    Rows row = rows();
    if (scales_) {  // of all of its columns
      row.n_columns = kLargestColumn + 1;
      refuse_outcome(normalize(row, false, example_.size()));
      row.n_columns = n_columns_;
      const auto columns = example_.indices();
      starts_[1] = int32_t(std::lower_bound(columns.begin(), columns.end(), n_columns_) - columns.begin());
    }
    refuse_outcome(kernels(single_).score(row, model_, view, scores_.data()));
    return scores_;
  }

 private:
  // The turn of the row in the task, which has n values. Nothing changes if it is refused.
  Outcome learn_rows(int64_t n) {
    if (scales_)
      if (const Outcome outcome = normalize(task_.rows, true, n); outcome.refusal != Refusal::none) return outcome;
    std::memcpy(static_cast<void*>(memory_now_.data()), memory_.data(), memory_.nbytes());
    std::memcpy(static_cast<void*>(tally_now_.data()), tally_.data(), tally_.nbytes());
    checkpoint(task_);
    const Outcome outcome = kernels(single_).learn(task_, model_);
    commit_or_roll_back(task_, outcome.refusal != Refusal::none);
    if (outcome.refusal == Refusal::none) {
      std::memcpy(memory_.data(), static_cast<const void*>(memory_now_.data()), memory_.nbytes());
      std::memcpy(tally_.data(), static_cast<const void*>(tally_now_.data()), tally_.nbytes());
      look();
    } else if (scales_) {
      scales_->undo();
    }
    return outcome;
  }

  // The row divided, in values of our own.
  Outcome normalize(Rows& row, bool absorb, int64_t n) {
    divided_.resize(size_t(n));
    const Outcome outcome = scales_->pass(row, divided_.data(), absorb, nullptr, 0, absorb ? &weight_ : nullptr,
                                          /*undoable=*/true, /*release_gil=*/false);
    row.values = divided_.data();
    return outcome;
  }

  int64_t width_asked() const { return example_.named() ? int64_t(1) << bits_ : example_.width(); }

  Rows rows() {
    starts_[1] = int32_t(example_.size());
    const void* values = example_.values().data();
    if (single_) {
      single_values_.assign(example_.values().begin(), example_.values().end());
      values = single_values_.data();
    }
    return {Rows::Layout::csr32, single_, values, example_.indices().data(), starts_, 1, n_columns_};
  }

  void refuse_outcome(const Outcome& outcome) const {
    if (outcome.refusal == Refusal::none) return;
    if (outcome.refusal == Refusal::memory) throw std::bad_alloc();
    refuse(outcome.refusal == Refusal::contents
               ? "The row has a value that is too large for the dtype of the model."
               : "The row needs a score or a step that the model cannot hold; scale the values so that they are of the "
                 "order of 1, and keep sample_weight and the parameters moderate.");
  }

  // The weights from now on are those of the next round. The same is done by State.look for whole batches.
  void look() {
    for (size_t problem = 0; problem < round_of_.size(); ++problem) {
      if (task_.dual_rule) {
        *round_of_[problem] = task_.dual_rule->round(task_.dual->problems[problem]);
        continue;
      }
      const Memory& now = memory_now_[problem];
      Round round = task_.coordinate_rule->round(now.t + 1, now.cut);
      round.threshold = task_.budget ? task_.budget->threshold
                        : single_    ? double(float(round.threshold))
                                     : round.threshold;
      *round_of_[problem] = round;
    }
  }

  Example example_;
  const nb::object rule_, beside_, rounds_, scales_owner_;  // keep them alive
  Scales* scales_ = nullptr;                                // or null, if rows are learned from as they are
  const Output weights_;
  const std::optional<Output> factors_;
  const Scalars memory_;
  const Counts tally_;
  const int64_t n_columns_;
  const int bits_;
  bool single_ = false;
  Model model_;
  Task task_;
  int32_t label_ = 0, starts_[2] = {0, 0};
  int64_t starts_in_place_[2] = {0, 0};
  double weight_ = 1, target_ = 0;
  std::vector<Memory> memory_now_;
  std::vector<Tally> tally_now_;
  std::vector<Round*> round_of_;
  std::vector<Round> rounds_now_;
  std::vector<double> scores_;
  std::vector<float> single_values_;
  std::vector<double> divided_;  // or floats, in half of it
};

}  // namespace

void bind_one(nb::module_& m) {
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
      .def(nb::init<nb::object, const std::string&, const Output&, const std::optional<Output>&, const Scalars&,
                    const Counts&, nb::object, int64_t, int64_t, bool, const std::string&,
                    const std::optional<std::tuple<double, double>>&, nb::object, int, nb::object>(),
           "rule"_a, "shape"_a, "weights"_a, "factors"_a.none(), "memory"_a, "tally"_a, "beside"_a.none(),
           "n_columns"_a, "n_heads"_a, "intercept"_a, "policy"_a, "cost"_a.none(), "rounds"_a.none(), "bits"_a,
           "scales"_a.none() = nb::none())
      .def("learn", &OneByOne::learn, "x"_a.none(), "label"_a, "weight"_a = 1.0, "target"_a = 0.0,
           "Learn from a row. Returns 0, or the width that the model needs first.")
      .def("scores", &OneByOne::scores, "x"_a.none(), "w.x for each head, without the scales.");
}
