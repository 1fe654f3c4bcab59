// The scales of the features of a model, owned by Python.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "memory/mapping.hpp"
#include "models.hpp"
#include "scaling/scales.hpp"

namespace sureline::bindings {

class Scales {
 public:
  enum class Kind { row, scale };

  Scales(Kind kind, Scalar dtype) : by_row_(kind == Kind::row), single_(dtype == Scalar::float32) {}

  // `rows` divided, their values to `out` if it is not null. With `absorb` the rows are taken in, each before it is
  // divided; with `undoable` what they change can be taken back, and is if one is refused.
  Outcome pass(const Rows& rows, void* out, bool absorb, const int64_t* order, int64_t n_order,
               const double* sample_weight, bool undoable, bool release_gil) {
    Normalizing task;
    task.rows = rows, task.out = out, task.order = order, task.n_order = n_order, task.sample_weight = sample_weight;
    if (absorb) begin(rows, undoable);
    // Kept alive during the read, even if another thread widens the scales.
    const std::shared_ptr<Memory> memory = memory_;
    task.scaling = scaling(absorb);
    Outcome outcome;
    if (release_gil) {
      nb::gil_scoped_release release;
      outcome = run(task);
    } else {
      outcome = run(task);
    }
    if (absorb) end(task.scaling, outcome.refusal != Refusal::none);
    return outcome;
  }

  // Rows are to be taken in, by one pass or by some calls that learn from them. With `undoable` what they change can
  // be taken back, as long as each value is visited but once.
  void begin(const Rows& rows, bool undoable) {
    if (by_row_) return;
    commit();
    widen(rows.n_columns);
    if (!undoable) return;
    const size_t n = size_t(n_values(rows));
    if (n * sizeof(ScaleChange) > memory_->bytes) {
      before_ = copied(*memory_, memory_->bytes);
    } else {
      changes_ = std::make_shared_for_overwrite<ScaleChange[]>(n);
      room_ = int64_t(n);
    }
  }
  // Called after each of these calls. Undoable changes are undone if a row was refused.
  void end(const Scaling& scaling, bool refused) {
    if (changes_) n_changes_ = scaling.n_changes;
    if (refused) undo();
  }

  // The division for the loops, which count rows if wanted.
  Scaling scaling(bool absorb) const {
    Scaling now;
    now.by_row = by_row_, now.absorb = absorb && !by_row_, now.single = single_;
    now.scales = memory_ ? memory_->data : nullptr, now.n_scales = size();
    if (now.absorb) now.changes = changes_.get(), now.n_changes = n_changes_;
    return now;
  }

  // Take back the latest pass, if it was undoable and nothing has been committed since.
  void undo() {
    if (before_) {
      memory_ = std::move(before_);
      n_scales_ = int64_t(memory_->bytes) / scaling(false).entry_bytes();
    }
    for (int64_t i = n_changes_; i-- > 0;) set(changes_[i].column, changes_[i].mean, changes_[i].count);
    commit();
  }
  void commit() {
    before_.reset();
    changes_.reset();
    n_changes_ = room_ = 0;
  }

  Scales copy() const {
    Scales twin(*this);
    twin.commit();
    if (memory_) twin.memory_ = copied(*memory_, memory_->bytes);
    return twin;
  }

  // Raises ValueError if the rows of a task change more scales than can be remembered.
  void check_room(const Task& task) const {
    if (!changes_) return;
    int64_t n = n_values(task.rows);
    if (task.order) {
      n = 0;
      for (int64_t k = 0; k < task.n_order; ++k) n += row_length(task.rows, task.order[k]);
    }
    if (n > room_ - n_changes_) refuse("Rows that can be taken back are visited but once.");
  }
  std::shared_ptr<const void> memory() const { return memory_; }

  bool by_row() const { return by_row_; }
  bool single() const { return single_; }

  // Outside of these groups of columns no feature was seen.
  std::vector<int64_t> groups() const {
    const size_t size = single_ ? sizeof(Scale<float>) : sizeof(Scale<double>);
    if (!memory_) return {};
    return nonzero_groups(memory_->data, size_t(n_scales_) * size, kGroup * size);
  }
  // f(column, mean, count) for the features in there that were seen.
  template <class F>
  void each(const std::vector<int64_t>& groups, const F& f) const {
    for (const int64_t group : groups)
      for (int64_t column = group * kGroup; column < std::min((group + 1) * kGroup, n_scales_); ++column) {
        const auto [mean, count] = at(column);
        if (count > 0) f(column, mean, count);
      }
  }

  std::pair<double, double> at(int64_t column) const {
    if (single_) return {scales<float>()[column].mean, scales<float>()[column].count};
    return {scales<double>()[column].mean, scales<double>()[column].count};
  }
  int64_t size() const { return memory_ ? n_scales_ : 0; }

  void restore(int64_t column, double mean, double count) {
    widen(column + 1);
    set(column, mean, count);
  }
  void widen(int64_t n_columns) {
    if (n_columns <= size() && memory_) return;
    const int64_t now = std::max(n_columns, size() + size() / 2) + 1;
    const size_t bytes = size_t(now) * (single_ ? sizeof(Scale<float>) : sizeof(Scale<double>));
    memory_ = memory_ ? copied(*memory_, bytes) : std::make_shared<Memory>(bytes);
    n_scales_ = now;
  }

 private:
  static constexpr int64_t kGroup = 32;

  struct Memory {
    explicit Memory(size_t n) : data(map_zeros(n)), bytes(n) {
      if (!data) throw std::bad_alloc();
    }
    Memory(const Memory&) = delete;
    ~Memory() { unmap(data, bytes); }
    void* const data;
    const size_t bytes;
  };

  static std::shared_ptr<Memory> copied(const Memory& memory, size_t bytes) {
    auto copy = std::make_shared<Memory>(bytes);
    copy_touched(copy->data, memory.data, memory.bytes);
    return copy;
  }

  static Outcome run(Normalizing& task) { return g_instruction_set->normalize(task); }

  template <class T>
  Scale<T>* scales() const {
    return static_cast<Scale<T>*>(memory_->data);
  }
  void set(int64_t column, double mean, double count) {
    if (column >= size()) return;
    if (single_)
      scales<float>()[column] = {float(mean), float(count)};
    else
      scales<double>()[column] = {mean, count};
  }

  bool by_row_, single_;
  std::shared_ptr<Memory> memory_, before_;
  int64_t n_scales_ = 0;
  std::shared_ptr<ScaleChange[]> changes_;
  int64_t n_changes_ = 0, room_ = 0;
};

// The scales of rows while a call learns from them. What was taken in is taken back, where that can be, unless it is to
// be kept.
class LearningScales {
 public:
  LearningScales(const HeldRows& held, Task& task) : scales_(held.scales) {
    if (!scales_) return;
    scales_->widen(held.rows.n_columns);
    scales_->check_room(task);
    memory_ = scales_->memory();
    now_ = scales_->scaling(true);
    task.scaling = &now_;
  }
  LearningScales(const LearningScales&) = delete;
  ~LearningScales() {
    if (scales_) scales_->end(now_, !keep_);
  }
  void keep() { keep_ = true; }

 private:
  Scales* const scales_;
  std::shared_ptr<const void> memory_;  // kept alive during the read, even if another thread widens the scales
  Scaling now_;
  bool keep_ = false;
};

}  // namespace sureline::bindings
