// The border between the learning loops and everybody else: plain structs, and one table of functions per
// instruction set. The loops (learn.hpp and what it includes) are compiled once for each instruction set; this header
// is compiled with the baseline everywhere.
#pragma once

#include <cstdint>

#include "rules.hpp"

namespace sureline {

// Rows whose starts and lengths have been checked. What is inside a row is looked at just before it is used.
struct Rows {
  enum class Layout { dense, csr32, csr64 };
  Layout layout = Layout::dense;
  bool single = false;  // float32 values, else float64
  const void* values = nullptr;
  const void* indices = nullptr;  // int32 or int64, as the layout says; so are the starts
  const void* indptr = nullptr;
  int64_t n_rows = 0;
  int64_t n_columns = 0;
};

// How the numbers of one weight are shaped in memory. Slot 0 is the intercept, slot j + 1 is column j, and the heads
// (one per class, or a single one) of a slot lie side by side.
//   identity   weights[slot][head]                         S = I
//   diagonal   weights[slot][head] = {w, S}                S stored so that zero bytes mean 1
//   theta      weights[slot][head] = {theta, S}            likewise; the weight is S theta
//   full       weights[slot][head], and factors[head]      S = U D U', see full.hpp
enum class Shape { identity, diagonal, theta, full };

struct Model {
  Shape shape = Shape::identity;
  void* weights = nullptr;
  void* factors = nullptr;
  int64_t n_slots = 0;
  int64_t n_heads = 1;
  bool intercept = true;
};

// Which heads an example moves: the only one; the true class and its best rival; every one, each a problem of its own.
enum class Policy { binary, rival, one_vs_rest };

struct Task {
  Rows rows;
  const int64_t* order = nullptr;  // the rows to visit, or null for all in turn
  int64_t n_order = 0;
  const int32_t* labels = nullptr;  // the class of each row; 1 is positive for Policy::binary
  const double* sample_weight = nullptr;
  const Rule* rule = nullptr;
  Memory* memory = nullptr;  // one for each problem
  Policy policy = Policy::binary;
  bool journal = false;  // remember what changes, and undo all of it if a row is refused
};

// Why a row was refused: what is in it (a value that is not finite, a column out of range); its columns do not ascend;
// its score or variance overflows; its step would; no memory is left for the journal.
enum class Refusal { none, contents, order, score, step, memory };

struct Outcome {
  int64_t seen = 0, mistakes = 0, updates = 0;
  Refusal refusal = Refusal::none;
  int64_t row = -1;  // the one that was refused; nothing of it was applied
};

struct Kernels {
  Outcome (*learn)(const Task&, const Model&);
  // out[row][head] = stored weights . x, without Memory::weight_scale. Only refusal and row of the outcome are set.
  Outcome (*score)(const Rows&, const Model&, double* out);
  // out[row][head] = x'Sx, without Memory::covariance_scale.
  Outcome (*variance)(const Rows&, const Model&, double* out);
};

}  // namespace sureline
