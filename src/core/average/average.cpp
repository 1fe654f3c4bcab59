#include "average/average.hpp"

#include <algorithm>
#include <cmath>

namespace sureline {

Average::Average(int64_t n_problems, int64_t n_heads, double half_life_)
    : half_life(half_life_), born(size_t(n_heads)), pasts(size_t(n_problems)), factor_(std::exp2(1 / half_life_)) {}

void Average::split(bool alone) {
  born.push_back(born[0]);
  if (alone) pasts.push_back(pasts[0]);
}

void Average::add(int64_t n_heads, int64_t n_problems) {
  born.resize(size_t(n_heads), total);
  pasts.resize(size_t(n_problems));
}

void Average::checkpoint(bool can_roll_back) {
  can_roll_back_ = can_roll_back;
  changes_.clear();
  if (!can_roll_back) return;
  saved_.growth = growth, saved_.total = total, saved_.written = written, saved_.born = born;
  saved_.ends.clear(), saved_.gone.clear();
  for (const Past& past : pasts)
    saved_.ends.emplace_back(past.runs.size(), past.runs.empty() ? Run{} : past.runs.back());
}

void Average::roll_back(double* sums) {
  if (can_roll_back_) {
    while (!changes_.empty()) {
      sums[changes_.back().first] = changes_.back().second;
      changes_.pop_back();
    }
    growth = saved_.growth, total = saved_.total, written = saved_.written, born = saved_.born;
    for (auto& [problem, past] : saved_.gone) pasts[problem] = std::move(past);
    for (size_t problem = 0; problem < pasts.size(); ++problem) {
      const auto& [n, last] = saved_.ends[problem];
      pasts[problem].runs.resize(n);
      if (n > 0) pasts[problem].runs.back() = last;
    }
  }
  commit();
}

void Average::save(size_t problem) {
  auto& gone = saved_.gone;
  if (can_roll_back_ && std::none_of(gone.begin(), gone.end(), [&](const auto& one) { return one.first == problem; }))
    gone.emplace_back(problem, pasts[problem]);
}

void Average::commit() {
  can_roll_back_ = false;
  changes_.clear(), saved_.gone.clear();
}

}  // namespace sureline
