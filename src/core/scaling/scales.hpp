// Rows on a common measure before anything is learned from them: what `normalize` means.
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

struct ScaleChange {  // what was there before a row was taken in
  int64_t column;
  double mean, count;
};

struct Normalizing {
  Rows rows;
  const int64_t* order = nullptr;  // the rows to visit, or null for all in turn
  int64_t n_order = 0;
  const double* sample_weight = nullptr;  // a row of weight 0 is as if it had not come
  void* out = nullptr;                    // for each value of the rows, in their scalar; null if only to be taken in
  bool by_row = false;                    // by the length of the row, else by the scales:
  bool absorb = false;                    // take the rows in, each before it is divided
  bool single = false;                    // float32 scales, else float64
  void* scales = nullptr;                 // at least n_columns of them, if rows are taken in
  int64_t n_scales = 0;
  ScaleChange* changes = nullptr;  // room for one for each value that is visited, or null
  int64_t n_changes = 0;
};

// One for each instruction set, with the same bits. A row whose values or columns are not what they should be is
// refused; what was taken in before it stays.
SURELINE_PER_ISA(Outcome normalize(Normalizing&);)

}  // namespace sureline
