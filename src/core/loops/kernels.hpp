// The interface of the learning loops to all other code: plain structs, and one table of functions per
// instruction set. The loops (learn.hpp and what it includes) are compiled once for each instruction set; this header
// is compiled with the baseline everywhere.
#pragma once

#include <cstdint>

#include "bounds/budget.hpp"
#include "bounds/top_features.hpp"
#include "rules/coordinate_rules.hpp"
#include "rules/margin_rules.hpp"
#include "spaces/shape.hpp"

namespace sureline {

class Average;     // average.hpp
class Averaging;   // average.hpp
class DualMemory;  // dual_memory.hpp
struct DualRule;   // dual_rule.hpp
class Recorder;    // record.hpp
struct Scaling;    // scales.hpp

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
  // Nobody else can change the arrays. Of others each row is copied before it is looked at.
  bool steady_indices = false, steady_values = false;
};

struct Model {
  Shape shape = Shape::identity;
  void* weights = nullptr;
  void* factors = nullptr;
  int64_t n_slots = 0;
  int64_t n_heads = 1;
  bool intercept = true;
  Average* average = nullptr;  // if predictions are made with the average of the weights, and then
  double* sums = nullptr;      // what it stores of each: sums[slot][head]
};

// Which heads an example moves: the only one; the true class and its best rival; every one, each a problem of its own.
// Or there are no classes, and one head whose score is to be the target.
enum class Policy { binary, rival, one_vs_rest, regression };

struct Tally {  // of the examples of one class
  int64_t seen = 0, mistakes = 0, updates = 0;
};
inline constexpr int kTallyColumns = sizeof(Tally) / sizeof(int64_t);

struct Task {
  Rows rows;
  const int64_t* order = nullptr;  // the rows to visit, or null for all in turn
  int64_t n_order = 0;
  const int32_t* labels = nullptr;  // the class of each row; 1 is positive for Policy::binary
  const double* sample_weight = nullptr;
  const double* class_weight = nullptr;  // what the weight of a row is multiplied by, for each class, or null
  bool shares = false;  // or by what gives each class its equal share of the rows so far; the record has neither
  const double* targets = nullptr;  // for Policy::regression, where the labels are all 0
  const double* told = nullptr;     // the targets as they are for the prediction, or null if that is the same
  const double* units = nullptr;    // what the loss of each prediction is multiplied by, or null
  const Rule* rule = nullptr;       // one of these three
  const CoordinateRule* coordinate_rule = nullptr;
  const DualRule* dual_rule = nullptr;
  Memory* memory = nullptr;        // one for each problem
  Tally* tally = nullptr;          // one for each class
  Budget* budget = nullptr;        // of a coordinate rule, or null
  Selection* selection = nullptr;  // of a margin rule, or null
  DualMemory* dual = nullptr;      // of a dual rule
  uint8_t* wrong = nullptr;        // for each row whether it was predicted wrongly, or null
  Recorder* recorder = nullptr;    // of predictions before their labels are learned from, or null
  Averaging* averaging = nullptr;  // of the weights, by which then is predicted, or null
  Scaling* scaling = nullptr;      // what each row is divided by when its turn has come, or null
  Policy policy = Policy::binary;
  double cost[2] = {1,
                    1};   // of the negative and the positive label: the c of margin_rules.hpp, which z is multiplied by
  bool balanced = false;  // c is what makes the classes count the same, by the numbers seen so far
  bool journal = false;   // remember what changes, and undo all of it if a row is refused
};

// Why a row was refused: what is in it (a value that is not finite, a column out of range); its columns do not ascend;
// its score or variance overflows; its step would; no memory is left for the journal.
enum class Refusal { none, contents, order, score, step, memory };

struct Outcome {
  Refusal refusal = Refusal::none;
  int64_t row = -1;  // the one that was refused; without a journal the numbers are then of no use
};

// Rounds to compute the weights with, one for each problem, or null for the shapes of the margin rules.
struct View {
  const Round* rounds = nullptr;
  int64_t n_rounds = 0;
  const Round& of(int64_t head) const { return rounds[n_rounds > 1 ? head : 0]; }
};

// Where the nonzero weights go, so many at most.
struct NonzeroRoom {
  int64_t size = 0;
  int64_t* slots = nullptr;
  int32_t* heads = nullptr;  // or null
  double* values = nullptr;
};

struct Kernels {
  Outcome (*learn)(const Task&, const Model&);
  // out[row][head] = weights . x, without Memory::weight_scale.
  Outcome (*score)(const Rows&, const Model&, const View&, double* out);
  // out[row][head] = x'Sx, without Memory::covariance_scale.
  Outcome (*variance)(const Rows&, const Model&, const View&, double* out);
  // The weights from slot `first` on that are not zero, without Memory::weight_scale: their number, and as far as there
  // is room for them their slots, ascending, heads and values. -1 if there is no memory. Parts of the model that were
  // never touched are passed over.
  int64_t (*nonzero)(const Model&, const View&, int64_t first, const NonzeroRoom&);
  // The budget's threshold, `least` or above, and its list anew from the numbers of the model. False if there is no
  // memory.
  bool (*choose_anew)(const Model&, Budget&, double least);
};

}  // namespace sureline
