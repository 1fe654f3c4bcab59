// What a model knows of the scale of its features, as Python owns it.
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
               const double* sample_weight, int64_t n_values, bool undoable, bool release_gil) {
    absorb = absorb && !by_row_;
    Normalizing task;
    task.rows = rows, task.out = out, task.order = order, task.n_order = n_order, task.sample_weight = sample_weight;
    task.by_row = by_row_, task.absorb = absorb, task.single = single_;
    if (absorb) {
      commit();
      widen(rows.n_columns);
    }
    const std::shared_ptr<Memory> memory = memory_;  // stays as long as it is read, whoever else widens
    task.scales = memory ? memory->data : nullptr, task.n_scales = memory ? n_scales_ : 0;
    std::shared_ptr<Memory> before;
    std::shared_ptr<ScaleChange[]> changes;
    if (absorb && undoable) {
      if (memory && size_t(n_values) * sizeof(ScaleChange) > memory->bytes) {
        before = copied(*memory, memory->bytes);
      } else {
        changes = std::make_shared_for_overwrite<ScaleChange[]>(size_t(n_values));
        task.changes = changes.get();
      }
    }
    Outcome outcome;
    if (release_gil) {
      nb::gil_scoped_release release;
      outcome = run(task);
    } else {
      outcome = run(task);
    }
    if (absorb && undoable) {
      before_ = std::move(before), changes_ = std::move(changes), n_changes_ = task.n_changes;
      if (outcome.refusal != Refusal::none) undo();
    }
    return outcome;
  }

  // Take back the latest pass, if it was undoable and nothing has been committed since.
  void undo() {
    if (before_) memory_ = std::move(before_);
    for (int64_t i = n_changes_; i-- > 0;) set(changes_[i].column, changes_[i].mean, changes_[i].count);
    commit();
  }
  void commit() {
    before_.reset();
    changes_.reset();
    n_changes_ = 0;
  }

  Scales copy() const {
    Scales twin(*this);
    twin.commit();
    if (memory_) twin.memory_ = copied(*memory_, memory_->bytes);
    return twin;
  }

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
  int64_t n_changes_ = 0;
};

}  // namespace sureline::bindings
