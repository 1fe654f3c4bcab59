// A hash table with keys of 32 bits. Each entry is in a slot near the one its key points to.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace sureline::text {

// Slot is a plain struct that has `key` and `is_free()`, and is free when all its bytes are zero. At least half of the
// slots are free, so searches are short, unless keys were chosen to make them long: then the slots are laid out
// anew by another multiplier, so that no data makes this slow. Where a slot lies is therefore nothing to rely on.
template <class Slot>
class HashSlots {
 public:
  HashSlots() { replace(64); }

  size_t size() const { return size_; }
  size_t n_slots() const { return n_slots_; }

  // The slot of the key, or the free slot where it belongs. After writing a key there, call `added()`.
  Slot* find(uint32_t key) {
    size_t at = home(key);
    for (size_t steps = 0; !slots_[at].is_free() && slots_[at].key != key; at = (at + 1) & (n_slots_ - 1))
      if (++steps == kManySteps && lay_out_anew(n_slots_)) at = home(key) - 1, steps = 0;
    return &slots_[at];
  }
  const Slot* find(uint32_t key) const {
    size_t at = home(key);
    while (!slots_[at].is_free() && slots_[at].key != key) at = (at + 1) & (n_slots_ - 1);
    return &slots_[at];
  }

  // Counts a slot that was free and is not any more. Slots may move.
  void added() {
    if (2 * ++size_ > n_slots_) {
      changes_ = 0;
      lay_out_anew(n_slots_ * (n_slots_ < 65536 ? 4 : 2));
    }
  }

  // Room for so many. Before the slots of another table are added one by one, which come in the order of these: they
  // would all crowd into the beginning of a table that is too small.
  void reserve(size_t size) {
    size_t wanted = n_slots_;
    while (2 * size > wanted) wanted *= 2;
    if (wanted > n_slots_) lay_out_anew(wanted);
  }

  void prefetch(uint32_t key) const { __builtin_prefetch(&slots_[home(key)]); }

  template <class F>
  void for_each(F&& f) const {
    for (size_t i = 0; i < n_slots_; ++i)
      if (!slots_[i].is_free()) f(slots_[i]);
  }

  // Keeps the slots for which f is true; f may change all but the key.
  template <class F>
  void keep_if(F&& f) {
    const size_t n_old = n_slots_;
    const std::unique_ptr<Slot[]> old = replace(n_old);
    for (size_t i = 0; i < n_old; ++i)
      if (!old[i].is_free() && f(old[i])) *free_slot(old[i].key) = old[i], ++size_;
  }

 private:
  static constexpr size_t kManySteps = 256;  // with random keys, 65,536 of them take at most some forty

  size_t home(uint32_t key) const { return static_cast<size_t>((key * multiplier_) >> shift_); }

  Slot* free_slot(uint32_t key) {
    size_t at = home(key);
    while (!slots_[at].is_free()) at = (at + 1) & (n_slots_ - 1);
    return &slots_[at];
  }

  // Replaces the slots by free ones and returns the old. Nothing changes if memory is short.
  std::unique_ptr<Slot[]> replace(size_t n_slots) {
    std::unique_ptr<Slot[]> other = std::make_unique<Slot[]>(n_slots);
    other.swap(slots_);
    n_slots_ = n_slots, size_ = 0;
    shift_ = 64 - std::countr_zero(n_slots);
    return other;
  }

  // Tries another multiplier, which separates clustered keys; false after several attempts.
  bool lay_out_anew(size_t n_slots) {
    if (n_slots == n_slots_) {
      if (++changes_ > 8) return false;
      multiplier_ = multiplier_ * 0xd1342543de82ef95u + 2;  // odd stays odd
    }
    const size_t n_old = n_slots_;
    const std::unique_ptr<Slot[]> old = replace(n_slots);
    for (size_t i = 0; i < n_old; ++i)
      if (!old[i].is_free()) *free_slot(old[i].key) = old[i], ++size_;
    return true;
  }

  std::unique_ptr<Slot[]> slots_;
  size_t n_slots_ = 0, size_ = 0;
  int shift_ = 0, changes_ = 0;
  uint64_t multiplier_ = 0x9e3779b97f4a7c15u;
};

}  // namespace sureline::text
