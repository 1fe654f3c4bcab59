// A stream of which only some labels are asked for: each row is judged, and learned from if its label is worth one.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <variant>
#include <vector>

#include "asking/asker.hpp"
#include "bindings.hpp"
#include "held_scales.hpp"
#include "models.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

// One of many rows as rows of its own.
class RowAlone {
 public:
  RowAlone(const Rows& rows, int64_t row) : rows_(rows) {
    const size_t size = rows.single ? sizeof(float) : sizeof(double);
    const int64_t first = values_before(rows, row);
    rows_.n_rows = 1, n = row_length(rows, row);
    rows_.values = static_cast<const char*>(rows.values) + size_t(first) * size;
    if (rows.layout == Rows::Layout::dense) return;
    const bool narrow = rows.layout == Rows::Layout::csr32;
    rows_.indices = static_cast<const char*>(rows.indices) + size_t(first) * (narrow ? 4 : 8);
    starts32_[1] = int32_t(n), starts64_[1] = n;
    rows_.indptr = narrow ? static_cast<const void*>(starts32_) : starts64_;
  }
  RowAlone(const RowAlone&) = delete;
  Rows& rows() { return rows_; }
  int64_t n;

 private:
  Rows rows_;
  int32_t starts32_[2] = {0, 0};
  int64_t starts64_[2] = {0, 0};
};

// A model that learns from the rows whose labels are asked for.
class AskedModel {
 public:
  AskedModel(const HeldModel& held, const AnyRuleAt& rule, HeldRows& rows, Asker& asker,
             const std::optional<std::tuple<double, double>>& cost, bool variances)
      : held_(held), rule_(rule), rows_(rows), asker_(asker), variances_(variances) {
    held.check_fits(rows.rows);
    if (variances && !has_covariance(held.model.shape)) refuse("The shape has no variances.");
    if (held.model.shape == Shape::confident_full) refuse("The weights of this shape are those of all rows at once.");
    rows.own_columns();  // each row is gone over several times
    task_ = held.task(rule, memory_now_, tally_now_);
    held.record_with(recorder_, task_);
    if (cost)
      std::tie(task_.cost[0], task_.cost[1]) = *cost;
    else
      task_.balanced = true;
    task_.labels = &label_, task_.sample_weight = &weight_;
    scores_.resize(size_t(held.model.n_heads)), spread_.resize(scores_.size());
    held.refresh(rule);
  }
  AskedModel(const AskedModel&) = delete;  // the task points into it

  // Predicts the row. Returns the probability with which its label was asked for and learned; 0 if it was not.
  double take(int64_t row, int32_t label, double weight, int32_t& predicted) {
    RowAlone alone(rows_.rows, row);
    divided(alone, false, nullptr);
    const double u = judged(alone.rows(), row, predicted);
    const double p = asker_.next(u);
    if (p == 0) return 0;
    asker_.told(predicted != label, 1 / p);
    label_ = label, weight_ = weight;
    recorder_.stand_for(1 / p);
    RowAlone again(rows_.rows, row);
    divided(again, true, &weight_);
    task_.rows = again.rows();
    checked(held_.run(task_, /*release=*/false), row);
    held_.refresh(rule_);
    return p;
  }

 private:
  // Copies the row, divided if needed; with `absorb` the scales count it first.
  void divided(RowAlone& alone, bool absorb, const double* weight) {
    values_.resize(size_t(alone.n));
    Rows& row = alone.rows();
    if (rows_.scales) {
      checked(rows_.scales->pass(row, values_.data(), absorb, nullptr, 0, weight, false, false), 0);
    } else {
      const size_t bytes = size_t(alone.n) * (row.single ? sizeof(float) : sizeof(double));
      const char* const from = static_cast<const char*>(row.values);
      std::copy(from, from + bytes, reinterpret_cast<char*>(values_.data()));
    }
    row.values = values_.data(), row.steady_values = true;
  }

  // How sure the model is: the margin of the best class over the next, in standard deviations where they are known.
  double judged(const Rows& row, int64_t number, int32_t& predicted) {
    const Kernels& table = kernels(held_.single);
    checked(table.score(row, held_.model, held_.view(), scores_.data()), number);
    const size_t n = scores_.size();
    for (size_t head = 0; head < n; ++head) scores_[head] *= memory_of(head).weight_scale;
    const size_t best = size_t(std::max_element(scores_.begin(), scores_.end()) - scores_.begin());
    size_t next = best == 0 ? 1 : 0;
    for (size_t head = next + 1; head < n; ++head)
      if (head != best && scores_[head] > scores_[next]) next = head;
    predicted = n == 1 ? scores_[0] > 0 : int32_t(best);
    const double margin = n == 1 ? std::abs(scores_[0]) : scores_[best] - scores_[next];
    if (!variances_) return margin;
    checked(table.variance(row, held_.model, held_.view(), spread_.data()), number);
    double v = spread_[best] * memory_of(best).covariance_scale;
    if (n > 1) v += spread_[next] * memory_of(next).covariance_scale;
    return margin > 0 ? margin / std::sqrt(v) : 0;
  }

  const Memory& memory_of(size_t head) const { return held_.memory[held_.n_problems > 1 ? head : 0]; }

  static void checked(Outcome outcome, int64_t row) {
    outcome.row = row;
    check(outcome);
  }

  const HeldModel& held_;
  const AnyRuleAt rule_;
  HeldRows& rows_;
  Asker& asker_;
  const bool variances_;
  Task task_;
  Recorder recorder_;
  int32_t label_ = 0;
  double weight_ = 1;
  std::vector<Memory> memory_now_;
  std::vector<Tally> tally_now_;
  std::vector<double> scores_, spread_, values_;
};

void learn(Asker& asker, const HeldModel& held, const AnyRuleAt& rule, HeldRows& rows, const Vector<int32_t>& labels,
           int64_t first, int64_t last, const std::optional<Vector<double>>& sample_weight,
           const std::optional<std::tuple<double, double>>& cost, bool variances,
           const OutputVector<int32_t>& predicted, const OutputVector<double>& asked) {
  const int64_t n = rows.rows.n_rows;
  if (int64_t(labels.size()) != n || (sample_weight && int64_t(sample_weight->size()) != n) ||
      int64_t(predicted.size()) != n || int64_t(asked.size()) != n)
    refuse("X and y differ in length.");
  if (first < 0 || first > last || last > n) refuse("There are no such rows.");
  for (int64_t i = first; i < last; ++i)
    if (labels.data()[i] < 0 || labels.data()[i] >= held.n_classes) refuse("A label is out of range.");
  AskedModel model(held, rule, rows, asker, cost, variances);
  nb::gil_scoped_release release;
  for (int64_t i = first; i < last; ++i) {
    const double weight = sample_weight ? sample_weight->data()[i] : 1.0;
    predicted.data()[i] = -1, asked.data()[i] = 0;
    if (weight == 0) continue;  // as if it had not come
    asked.data()[i] = model.take(i, labels.data()[i], weight, predicted.data()[i]);
  }
}

void check_shares(double rate, double random) {
  if (!(rate > 0 && rate <= 1)) refuse("The rate must be above 0 and at most 1.");
  if (!(random >= 0 && random <= 1)) refuse("The part that is random must be from 0 to 1.");
}

using Told = std::tuple<double, double, uint64_t, int64_t, int64_t, double, double>;

Told told(const Asker& asker) {
  const Asker::State& s = asker.state();
  return {s.rate, s.random, s.seed, s.rows, s.asked, s.total, s.wrong};
}

NewArray<double> latest(const Asker& asker) {
  const Asker::State& s = asker.state();
  NewArray<double> found = new_array<double>(std::min(s.rows, Asker::kWindow));
  std::copy_n(s.latest.begin(), found.size(), found.data());
  return found;
}

Asker restored(const Told& numbers, const Vector<double>& latest) {
  Asker::State s;
  std::tie(s.rate, s.random, s.seed, s.rows, s.asked, s.total, s.wrong) = numbers;
  check_shares(s.rate, s.random);
  const bool counts =
      s.rows >= 0 && s.rows < int64_t(1) << 53 && s.asked >= 0 && double(s.asked) <= s.rate * double(s.rows);
  if (!counts) refuse("More labels were asked for than there may be.");
  if (!(s.wrong >= 0 && s.wrong <= s.total && std::isfinite(s.total)))
    refuse("More labels were wrong than there were.");
  if (int64_t(latest.size()) != std::min(s.rows, Asker::kWindow)) refuse("There are not as many latest rows.");
  for (size_t i = 0; i < latest.size(); ++i)
    if (!(latest.data()[i] >= 0)) refuse("An uncertainty is negative.");
  std::copy_n(latest.data(), latest.size(), s.latest.begin());
  return Asker(s);
}

}  // namespace

void bind_asking(nb::module_& m) {
  nb::class_<Asker>(m, "Asker", "Asks for the labels of at most a share of the rows, of those that are least sure.")
      .def(
          "__init__",
          [](Asker* self, double rate, uint64_t seed, double random) {
            check_shares(rate, random);
            new (self) Asker(rate, seed, random);
          },
          "rate"_a, "seed"_a, "random"_a)
      .def("next", &Asker::next, "u"_a,
           "Whether to ask for the label of the next row, of which the learner is this sure: the probability with "
           "which it is, or 0 if it is not.")
      .def("told", &Asker::told, "wrong"_a, "rows"_a, "A label came: it stands for so many rows.")
      .def("learn", &learn, "model"_a, "rule"_a, "rows"_a, "labels"_a, "first"_a, "last"_a, nb::kw_only(),
           "sample_weight"_a.none(), "cost"_a.none(), "variances"_a, "predicted"_a, "asked"_a,
           "Let a model predict the rows from first to last, and learn from those whose label is asked for. There is "
           "no journal: if a row is refused the model is of no further use.")
      .def_prop_ro("numbers", &told,
                   "rate, random part, seed, rows, labels asked for, rows that these stand for, and wrong ones.")
      .def_prop_ro("latest", &latest, nb::rv_policy::automatic, "How sure the learner was of the latest rows.")
      .def_static("restored", &restored, "numbers"_a, "latest"_a);
}
