#include "windows/dual_memory.hpp"

#include <algorithm>

namespace sureline {

RowWindow::Example RowWindow::example(int64_t i) const {
  const size_t at = size_t(gone_ + i);
  const Entry from = at > 0 ? entries_[at - 1] : Entry{0, 0}, to = entries_[at];
  return {parts_.data() + from.parts, to.parts - from.parts, columns_.data() + from.numbers,
          values_.data() + from.numbers, to.numbers - from.numbers};
}

void RowWindow::end_example() { entries_.push_back({int64_t(parts_.size()), int64_t(values_.size())}); }

void RowWindow::drop_oldest() {
  ++gone_;
  if (!keeps_gone_) forget_gone();
}

// Runs when half of the entries are gone, so it costs a constant per entry.
void RowWindow::forget_gone() {
  if (2 * gone_ < int64_t(entries_.size()) || gone_ == 0) return;
  const Entry end = entries_[size_t(gone_ - 1)];
  parts_.erase(parts_.begin(), parts_.begin() + end.parts);
  columns_.erase(columns_.begin(), columns_.begin() + end.numbers);
  values_.erase(values_.begin(), values_.begin() + end.numbers);
  entries_.erase(entries_.begin(), entries_.begin() + gone_);
  for (Entry& entry : entries_) entry.parts -= end.parts, entry.numbers -= end.numbers;
  gone_ = 0;
}

void RowWindow::split(const std::vector<Part>& heads) {
  std::vector<Part> parts;
  parts.reserve(parts_.size() * heads.size());
  for (const Part& part : parts_)
    for (const Part& head : heads) parts.push_back({head.head, part.coefficient * head.coefficient});
  parts_ = std::move(parts);
  for (Entry& entry : entries_) entry.parts *= int64_t(heads.size());
  for (const Part& head : heads) heads_beyond_ = std::max(heads_beyond_, head.head + 1);
}

void RowWindow::checkpoint(bool can_roll_back) {
  keeps_gone_ = can_roll_back;
  gone_before_ = gone_;
  n_before_ = int64_t(entries_.size());
}

void RowWindow::roll_back() {
  if (keeps_gone_) {
    gone_ = gone_before_;
    entries_.resize(size_t(n_before_));
    const Entry end = n_before_ > 0 ? entries_.back() : Entry{0, 0};
    parts_.resize(size_t(end.parts));
    columns_.resize(size_t(end.numbers));
    values_.resize(size_t(end.numbers));
  }
  keeps_gone_ = false;
}

void RowWindow::commit() {
  keeps_gone_ = false;
  forget_gone();
}

namespace {

bool after(const Crossings::Entry& a, const Crossings::Entry& b) { return a.size > b.size; }

}  // namespace

void Crossings::begin(int64_t n_problems, int64_t n_heads) {
  heaps_.assign(size_t(n_problems), {});
  n_heads_ = n_heads;
}

void Crossings::end() {
  n_found_ = 0;
  for (const std::vector<Entry>& heap : heaps_) n_found_ = std::max(n_found_, int64_t(heap.size()));
}

void Crossings::add(int64_t problem, Entry entry) {
  std::vector<Entry>& heap = heaps_[size_t(problem)];
  heap.push_back(entry);
  std::push_heap(heap.begin(), heap.end(), after);
}

const std::vector<int64_t>& Crossings::take(int64_t problem, double threshold) {
  std::vector<Entry>& heap = heaps_[size_t(problem)];
  taken_.clear();
  while (!heap.empty() && heap.front().size <= threshold) {
    std::pop_heap(heap.begin(), heap.end(), after);
    taken_.push_back(heap.back().coordinate);
    heap.pop_back();
  }
  if (taken_.size() > 1) {
    std::sort(taken_.begin(), taken_.end());
    taken_.erase(std::unique(taken_.begin(), taken_.end()), taken_.end());
  }
  return taken_;
}

void KnownSlots::begin(int64_t most) {
  forget();
  most_ = most;
}

void KnownSlots::add(int64_t slot) {
  if (too_many_) return;
  slots_.push_back(slot);
  if (int64_t(slots_.size()) <= 2 * most_) return;
  if (int64_t(all().size()) <= most_) return;  // the limit was not exceeded
  forget();
  too_many_ = true;
}

void KnownSlots::end() { known_ = !too_many_; }

const std::vector<int64_t>& KnownSlots::all() {
  const auto fresh = slots_.begin() + n_ascending_;
  std::sort(fresh, slots_.end());
  std::inplace_merge(slots_.begin(), fresh, slots_.end());
  slots_.erase(std::unique(slots_.begin(), slots_.end()), slots_.end());
  n_ascending_ = int64_t(slots_.size());
  return slots_;
}

void DualMemory::checkpoint(bool can_roll_back) {
  before_ = problems;
  window.checkpoint(can_roll_back);
  known_slots.forget();
}

void DualMemory::roll_back() {
  problems = before_;
  window.roll_back();
  crossings.forget();  // entries that were taken cannot be restored
  known_slots.forget();
}

void DualMemory::commit() {
  window.commit();
  known_slots.forget();
}

}  // namespace sureline
