// The weights of rows, and the factors of their classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loops/kernels.hpp"
#include "refused.hpp"

namespace sureline::bindings {

inline void check_sample_weight(std::span<const double> weights) {
  for (size_t i = 0; i < weights.size(); ++i)
    if (!std::isfinite(weights[i]) || weights[i] < 0)
      refuse("sample_weight must be finite and not negative; row " + std::to_string(i) + " has " +
             std::to_string(weights[i]) + ".");
}

inline void check_class_weight(std::span<const double> weights, int64_t n_classes) {
  if (int64_t(weights.size()) != n_classes) refuse("There must be a weight for each class.");
  for (const double weight : weights)
    if (!std::isfinite(weight) || weight < 0) refuse("The weight of a class must be finite and not negative.");
}

// Weights of classes for a task whose rows, labels and sample weights are there. A row of a class without weight is as
// if it had not come, which its own weight says: in memory that lives as long as this.
class ClassWeights {
 public:
  ClassWeights(std::span<const double> weights, int64_t n_classes, Task& task) {
    check_class_weight(weights, n_classes);
    task.class_weight = weights.data();
    if (std::ranges::find(weights, 0.0) == weights.end()) return;
    const int64_t n_rows = task.rows.n_rows;
    own_.assign(size_t(n_rows), 1.0);
    if (task.sample_weight) std::copy_n(task.sample_weight, n_rows, own_.begin());
    for (size_t i = 0; i < own_.size(); ++i)
      if (weights[size_t(task.labels[i])] == 0) own_[i] = 0;
    task.sample_weight = own_.data();
  }

 private:
  std::vector<double> own_;
};

}  // namespace sureline::bindings
