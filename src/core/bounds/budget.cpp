#include "bounds/budget.hpp"

#include <algorithm>

namespace sureline {

void Budget::set_members(const std::vector<int64_t>& coordinates) {
  members_.clear();
  beyond_ = 0;
  for (const int64_t coordinate : coordinates)
    if (coordinate >= 0) add(coordinate);
}
int64_t Budget::n_members() const { return int64_t(members_.size()); }
int64_t Budget::member(int64_t i) const { return members_[size_t(i)]; }
void Budget::add(int64_t coordinate) {
  members_.push_back(coordinate);
  beyond_ = std::max(beyond_, coordinate + 1);
}
bool Budget::crowded() const { return n_members() > 2 * max + 1024; }

void Budget::settle(const double* sizes) {
  sized_.clear();
  for (size_t i = 0; i < members_.size(); ++i)
    if (sizes[i] > threshold) sized_.push_back({members_[i], sizes[i]});
  std::sort(sized_.begin(), sized_.end(), [](const Sized& a, const Sized& b) { return a.coordinate < b.coordinate; });
  const auto same = [](const Sized& a, const Sized& b) { return a.coordinate == b.coordinate; };
  sized_.erase(std::unique(sized_.begin(), sized_.end(), same), sized_.end());
  floor_ = threshold;
  finish(int64_t(sized_.size()) > max ? fewer() : max);
}

void Budget::begin(double least) {
  floor_ = least;
  sized_.clear();
}

void Budget::offer(int64_t coordinate, double size) {
  if (int64_t(sized_.size()) > 2 * max + 1024) shrink(max);
  if (size > floor_) sized_.push_back({coordinate, size});
}

void Budget::finish(int64_t keep) {
  shrink(keep);
  threshold = floor_;
  active = int64_t(sized_.size());
  if (!before_.replaced) {
    before_.members = std::move(members_);
    before_.replaced = true;
  }
  members_.clear();
  beyond_ = 0;
  for (const Sized& sized : sized_) add(sized.coordinate);
  sized_.clear();
  sized_.shrink_to_fit();
}

// Keeps the largest. Ties at the border are all dropped, so that at most `keep` are left.
void Budget::shrink(int64_t keep) {
  if (int64_t(sized_.size()) <= keep) return;
  const auto border = sized_.begin() + keep;
  std::nth_element(sized_.begin(), border, sized_.end(),
                   [](const Sized& a, const Sized& b) { return a.size > b.size; });
  floor_ = border->size;
  sized_.erase(std::remove_if(sized_.begin(), sized_.end(), [&](const Sized& s) { return !(s.size > floor_); }),
               sized_.end());
}

void Budget::checkpoint() { before_ = {threshold, chosen, active, beyond_, n_members(), false, {}}; }

void Budget::roll_back() {
  if (before_.replaced) members_ = std::move(before_.members);
  members_.resize(size_t(before_.n_members));
  threshold = before_.threshold, chosen = before_.chosen, active = before_.active, beyond_ = before_.beyond;
  commit();
}

void Budget::commit() { before_ = {}; }

}  // namespace sureline
