#include "confidence/record.hpp"

#include <cmath>

namespace sureline {

using namespace record;

// Where the best class is wrong, the others share the probability as exp(f / T) does. The log-likelihood of the label
// is added up for each of the temperatures, so that the best of them can be told later.
void Recorder::add(const double* scores, int64_t n, int64_t best, int64_t next, double v, int64_t label, double s) {
  add(scores[best] - scores[next], v, label == best, label == best, s);
  if (label == best) return;
  for (int i = 0; i < kTemperatures; ++i) {
    const double inverse = std::ldexp(1.0, -(kLowestTemperature + i));
    double sum = 0;
    for (int64_t k = 0; k < n; ++k)
      if (k != best) sum += std::exp((scores[k] - scores[next]) * inverse);
    logs_.push_back(s * weight_ * ((scores[label] - scores[next]) * inverse - std::log(sum)));
  }
}

void Recorder::commit(double* numbers) const {
  numbers[kRows] = double(seen_);
  for (const Entry& entry : entries_) {
    numbers[entry.at] += entry.weight;
    numbers[kSquares] += entry.weight * entry.weight;
  }
  std::copy_n(guards_, kLevels, numbers + kGuards);
  for (size_t i = 0; i < logs_.size(); ++i) numbers[kLogs + i % kTemperatures] += logs_[i];
}

}  // namespace sureline
