// The record of predictions that preceded their labels: its layout, and how scores that are at hand are put on it.
#include <cmath>

#include "bindings.hpp"
#include "confidence/record.hpp"
#include "models.hpp"

namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

// Records scores and variances of shape (rows, heads), as a loop does for its rows.
void put_on_record(const NumbersOfRecord& numbers, const Matrix& scores, const std::optional<Matrix>& variances,
                   const Vector<int32_t>& labels, const std::optional<Vector<double>>& weight) {
  check_record(numbers);
  const int64_t n_rows = int64_t(scores.shape(0)), n_heads = int64_t(scores.shape(1));
  if (n_heads < 1 || int64_t(labels.size()) != n_rows || (weight && int64_t(weight->size()) != n_rows) ||
      (variances && (variances->shape(0) != scores.shape(0) || variances->shape(1) != scores.shape(1))))
    refuse("The scores, variances, labels and weights do not fit.");
  Recorder recorder;
  recorder.begin(numbers.data());
  for (int64_t row = 0; row < n_rows; ++row) {
    const double s = weight ? weight->data()[row] : 1.0;
    if (s == 0 || !recorder.next()) continue;
    const double *f = scores.data() + row * n_heads, *v = variances ? variances->data() + row * n_heads : nullptr;
    int64_t best = 0;
    for (int64_t head = 1; head < n_heads; ++head)
      if (f[head] > f[best]) best = head;
    int64_t next = best == 0 ? 1 : 0;
    for (int64_t head = next + 1; head < n_heads; ++head)
      if (head != best && f[head] > f[next]) next = head;
    const double both = !v ? 0.0 : n_heads == 1 ? v[0] : v[best] + v[next];
    if (!std::isfinite(both) || !std::isfinite(f[best])) continue;
    if (n_heads == 1)
      recorder.add(f[0], both, labels.data()[row] == 1, s);
    else if (labels.data()[row] >= 0 && labels.data()[row] < n_heads)
      recorder.add(f, n_heads, best, next, both, labels.data()[row], s);
    else
      refuse("A label is out of range.");
  }
  recorder.commit(numbers.data());
}

}  // namespace

void bind_confidence(nb::module_& m) {
  m.def("put_on_record", &put_on_record, "record"_a, "scores"_a, "variances"_a.none(), "labels"_a, "weight"_a.none(),
        "Add the predictions of rows to a record, as a loop does before it learns from them.");
  nb::dict layout;
  layout["size"] = record::kSize;
  layout["rows"] = record::kRows;
  layout["squares"] = record::kSquares;
  layout["logs"] = record::kLogs;
  layout["cells"] = record::kCells;
  layout["score_bins"] = record::kScoreBins;
  layout["in_octave"] = record::kInOctave;
  layout["lowest_score"] = record::kLowestScore;
  layout["std_bins"] = record::kStdBins;
  layout["lowest_std"] = record::kLowestStd;
  layout["temperatures"] = record::kTemperatures;
  layout["lowest_temperature"] = record::kLowestTemperature;
  layout["all_below"] = record::kAllBelow;
  layout["guards"] = record::kGuards;
  layout["levels"] = record::kLevels;
  layout["lowest_level"] = record::kLowestLevel;
  m.attr("RECORD") = layout;
}
