// Changes that shards made to a model, merged into it.
#include "merging/merging.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bindings.hpp"
#include "models.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

struct HeldChange {
  Vector<int64_t> places;
  Input numbers;
  Vector<double> cuts;
  double share = 1, part = 1;
};

void check_places(const Vector<int64_t>& places, int64_t end) {
  int64_t before = -1;
  bool ascend = true;
  for (size_t i = 0; i < places.size(); ++i) {
    ascend &= places.data()[i] > before;
    before = places.data()[i];
  }
  if (!ascend || before >= end) refuse("The places of a change do not ascend, or are out of range.");
}

void merge(const HeldModel& held, const std::vector<const HeldChange*>& changes, bool sums) {
  held.check_writeable();
  MergeTask task;
  task.model = held.model, task.numbers = merged_numbers(held.model.shape, sums);
  task.rounds = held.rounds, task.memory = held.memory, task.n_problems = held.n_problems;
  if (task.numbers.n == 0) refuse("Weights of this shape are not merged.");
  std::vector<ShardChange> found;
  for (const HeldChange* change : changes) {
    const size_t n = change->places.size();
    if (change->numbers.size() != n * size_t(task.numbers.n) ||
        is_single(change->numbers, "The numbers of a change") != held.single ||
        int64_t(change->cuts.size()) != held.n_problems)
      refuse("A change does not fit the model.");
    found.push_back({{change->places.data(), n},
                     change->numbers.data(),
                     change->share,
                     change->part,
                     {change->cuts.data(), change->cuts.size()}});
  }
  task.changes = found;
  nb::gil_scoped_release release;
  for (const HeldChange* change : changes) check_places(change->places, held.model.n_slots * held.model.n_heads);
  held.single ? merge_changes<float>(task) : merge_changes<double>(task);
}

}  // namespace

void bind_merging(nb::module_& m) {
  nb::enum_<Merged>(m, "Merged", "How a number of a weight is merged.")
      .value("mean", Merged::mean)
      .value("precision", Merged::precision, "Of a variance.")
      .value("sum", Merged::sum, "Of gradients that count once.")
      .value("root", Merged::root, "Of a sum of squares.")
      .value("cut", Merged::cut, "The truncation that a weight has had.");
  m.def(
      "merged_numbers",
      [](Shape shape, bool sums) {
        const MergedNumbers numbers = merged_numbers(shape, sums);
        return std::vector<Merged>(numbers.kinds, numbers.kinds + numbers.n);
      },
      "shape"_a, "sums"_a,
      "How each number of a weight of this shape is merged; with `sums` the first is a sum of gradients that count "
      "once. None if weights are not merged one by one.");
  nb::class_<HeldChange>(m, "ShardChange", "The weights that a shard changed.")
      .def(
          "__init__",
          [](HeldChange* self, const Vector<int64_t>& places, const Input& numbers, const Vector<double>& cuts,
             double share, double part) { new (self) HeldChange{places, numbers, cuts, share, part}; },
          "places"_a, "numbers"_a, "cuts"_a, nb::kw_only(), "share"_a, "part"_a,
          "Places slot * heads + head, ascending, their numbers, and for each problem the truncation so far. A row of "
          "the shard, which has this share of the stream, is counted 1 / part times.");
  m.def("merge_changes", &merge, "model"_a, "changes"_a, nb::kw_only(), "sums"_a,
        "Put the merged numbers in place of those that some shard changed, in the order of the shards. The memory of "
        "the model has the truncation of the merged model.");
}
