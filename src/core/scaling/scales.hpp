// Division of rows before learning, by the parameter `normalize`.
//
//   row:   x / |x|; a row of zeros stays.
//   scale: x_j / a_j, with the mean a_j of |x_j| over the rows so far in which it is not zero, this one among them:
//
//            k_j += 1,   a_j += (|x_j| - a_j) / k_j.
//
//          So 0/1 data stay as they are, and the unit that a feature is measured in does not matter. Rows that are only
//          to be predicted change nothing, and a feature that was never seen has its own size: x_j / |x_j|.
//
// It depends on the rows alone, and not on who learns from them.
#pragma once

#include "loops/isa.hpp"
#include "loops/kernels.hpp"

namespace sureline {

// Of one feature; zero bytes are one that was never seen. The count is an integer that stays where the next one cannot
// be told from it, at 2^24 (float) or 2^53.
template <class T>
struct Scale {
  T mean, count;
};

struct ScaleChange {  // the state before a row was counted
  int64_t column;
  double mean, count;
};

// The number of values of rows: of the first n, of one, or of all.
inline int64_t values_before(const Rows& rows, int64_t n) {
  if (rows.layout == Rows::Layout::dense) return n * rows.n_columns;
  return rows.layout == Rows::Layout::csr32 ? static_cast<const int32_t*>(rows.indptr)[n]
                                            : static_cast<const int64_t*>(rows.indptr)[n];
}
inline int64_t row_length(const Rows& rows, int64_t row) {
  return values_before(rows, row + 1) - values_before(rows, row);
}
inline int64_t n_values(const Rows& rows) { return values_before(rows, rows.n_rows); }

// The divisors of rows, and their state.
struct Scaling {
  bool by_row = false;     // by the length of the row, else by the scales:
  bool absorb = false;     // count each row before it is divided
  bool single = false;     // float32 scales, else float64
  void* scales = nullptr;  // at least as many as there are columns, if rows are taken in
  int64_t n_scales = 0;
  ScaleChange* changes = nullptr;  // one entry for each value visited, or null
  int64_t n_changes = 0;

  int64_t entry_bytes() const { return single ? int64_t(sizeof(Scale<float>)) : int64_t(sizeof(Scale<double>)); }
  // Of the scales that the columns of a row are looked up in.
  int64_t bytes() const { return by_row ? 0 : n_scales * entry_bytes(); }
};

struct Normalizing {
  Rows rows;
  const int64_t* order = nullptr;  // the rows to visit, or null for all in turn
  int64_t n_order = 0;
  const double* sample_weight = nullptr;  // a row of weight 0 is as if it had not come
  void* out = nullptr;                    // for each value of the rows, in their scalar; null if only to be taken in
  Scaling scaling;
};

// Refuses rows with invalid values or columns; earlier rows stay counted. One function per instruction set, with the
// same bits.
SURELINE_PER_ISA(Outcome normalize(Normalizing&);)

}  // namespace sureline
