// Learning in groups of features (Tan et al., AAAI 2016, Algorithms 2 and 3): the passes over rows, compiled once for
// every machine. The state is in double, values of rows are float or double as they come.
//
// A model has K groups of columns. Position p of a selected column is its place in the groups, one after the other.
// Each group starts at a multiple of kPad, so loops over a group have no remainder. Group k has the covariance S_k, or
// S_k = I for all k.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "loops/kernels.hpp"

namespace sureline::groups {

inline constexpr int64_t kPad = 8;

// Finds the positions of a few columns. It is an open hash table, since a table over all columns would be far larger
// than a cache. A filter of bits comes first. Nearly all columns of a wide row fail it, and it needs no branch.
class Columns {
 public:
  Columns(const int64_t* columns, const int64_t* positions, int64_t n);
  // False for nearly all columns outside the table, true for all columns in it.
  bool may_have(int64_t column) const {
    const uint64_t bit = mixed(column) >> filter_shift_;
    return (filter_[bit / 64] >> (bit % 64)) & 1;
  }
  // -1 if the column is not in the table.
  int64_t position(int64_t column) const {
    size_t slot = size_t(mixed(column) >> shift_);
    while (slots_[slot].column != column && slots_[slot].column >= 0) slot = (slot + 1) & mask_;
    return slots_[slot].position;
  }
  struct Slot {
    int64_t column = -1, position = -1;
  };
  const std::vector<Slot>& all() const { return all_; }

 private:
  static uint64_t mixed(int64_t column) { return uint64_t(column) * 0x9e3779b97f4a7c15u; }
  std::vector<Slot> slots_, all_;
  std::vector<uint64_t> filter_;
  size_t mask_ = 0;
  int shift_ = 63, filter_shift_ = 63;
};

// The batch: the weight C_i of each row (rows of weight 0 are never read), and the sign of its label in a problem.
struct Batch {
  const double* C = nullptr;
  const int32_t* labels = nullptr;
  int32_t positive = 1;  // the class with the sign +
  double sign(int64_t row) const { return labels[row] == positive ? 1.0 : -1.0; }
};

// s[j] += sum_i C_i alpha_i y_i x_ij over all columns j. Rows whose alpha is 0 are skipped. Columns need not ascend.
Outcome add_scores(const Rows& rows, const Batch& batch, const double* alpha, double* s);

// At most `most` columns with the largest scores, largest first, ties by column. Scores of 0 are left out.
std::vector<int64_t> best(const double* scores, int64_t n_columns, int64_t most);

// The constants of a problem's objective.
struct Objective {
  double sigma = 1;
  int q = 1;
  bool intercept = true;
  double P_b = 1;      // precision of the intercept
  bool exact = false;  // whether a step goes to the maximum along a row, instead of the paper's step
};

// The dual variables of a problem.
struct Duals {
  double* alpha = nullptr;  // of each row
  double* z = nullptr;      // sum of C_i alpha_i y_i x_i over the selected columns, group after group
  double* z_b = nullptr;    // the same for the intercept
};

struct Sweep {
  Outcome outcome;
  double gap = 0;  // sum of each row's part of the duality gap, before its step
};

struct Value {
  double dual = 0, theta = 0, gap = 0;
};

// The rows of a batch, reduced to the selected columns.
class Selection {
 public:
  virtual ~Selection() = default;
  // Adds groups with these numbers of columns. Nothing changes if a row is refused, or if the arrays would take more
  // than `most_bytes` (Refusal::memory).
  virtual Outcome add_groups(const Rows& rows, const double* C, const std::vector<int64_t>& columns,
                             const std::vector<int64_t>& sizes, int64_t most_bytes) = 0;
  // sum_i weight_i x_i x_i' of the columns of a group, row by row.
  virtual void gram(int64_t group, const double* weight, double* G) const = 0;
  // Sets the covariance of the first group without one. Each group needs one before the next pass. null is the
  // identity, for all groups or none.
  virtual void set_covariance(const double* S) = 0;
  // One pass over the rows. `scores`, if not null, gets each score before the row's own step. moved[i] is set to 1 if
  // row i made a step.
  virtual Sweep sweep(const Batch& batch, const Objective& objective, const Duals& duals, double* scores,
                      uint8_t* moved) const = 0;
  // The objective at the current alpha. Without the gap no row is read.
  virtual Value value(const Batch& batch, const Objective& objective, const Duals& duals, bool with_gap) const = 0;

  virtual int64_t n_rows() const = 0;
  virtual int64_t n_groups() const = 0;
  virtual int64_t n_ready() const = 0;  // groups that have their covariance
  virtual int64_t size(int64_t group) const = 0;
  virtual int64_t nbytes() const = 0;
  virtual bool has_covariance() const = 0;
  int64_t n_selected() const;  // columns of all groups
};

std::unique_ptr<Selection> make_selection(int64_t n_rows, bool single);

// out[row][head] = intercept + weights . x, for weights[position][head] of the selected columns.
Outcome score(const Rows& rows, const Columns& columns, const double* weights, const double* intercepts,
              int64_t n_heads, double* out);
// out[row] = intercept + sum_k x_k' S_k x_k; S has the blocks of all groups in sequence.
Outcome variance(const Rows& rows, const Columns& columns, const std::vector<int64_t>& sizes, const double* S,
                 double intercept, double* out);

}  // namespace sureline::groups
