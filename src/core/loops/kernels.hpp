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

// Rows whose starts and lengths are checked. Their contents are checked just before use.
struct Rows {
  enum class Layout { dense, csr32, csr64 };
  Layout layout = Layout::dense;
  bool single = false;  // float32 values, else float64
  const void* values = nullptr;
  const void* indices = nullptr;  // int32 or int64, as the layout says; so are the starts
  const void* indptr = nullptr;
  int64_t n_rows = 0;
  int64_t n_columns = 0;
  // No other thread can change the arrays. Otherwise each row is copied before it is checked.
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
  double* sums = nullptr;      // sums[slot][head], its numbers
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
  const double* class_weight = nullptr;  // factor of the weight of a row, per class, or null
  bool shares = false;  // or factors that give each class its equal share of the rows so far; the record ignores both
  const double* targets = nullptr;  // for Policy::regression, where the labels are all 0
  const double* told = nullptr;     // targets for judging predictions, or null if they are the same
  const double* units = nullptr;    // factor of the loss of each prediction, or null
  const Rule* rule = nullptr;       // exactly one of these three is set
  const CoordinateRule* coordinate_rule = nullptr;
  const DualRule* dual_rule = nullptr;
  Memory* memory = nullptr;        // one per problem
  Tally* tally = nullptr;          // one per class
  Budget* budget = nullptr;        // of a coordinate rule, or null
  Selection* selection = nullptr;  // of a margin rule, or null
  DualMemory* dual = nullptr;      // of a dual rule
  uint8_t* wrong = nullptr;        // for each row whether it was predicted wrongly, or null
  Recorder* recorder = nullptr;    // of predictions before their labels are learned from, or null
  Averaging* averaging = nullptr;  // of the weights, which then predicts, or null
  Scaling* scaling = nullptr;      // divides each row in its turn, or null
  Policy policy = Policy::binary;
  double cost[2] = {1,
                    1};   // of the negative and the positive label: the c of margin_rules.hpp, which z is multiplied by
  bool balanced = false;  // c makes the classes count the same, by the numbers so far
  bool journal = false;   // remember changes, and undo all of them if a row is refused
};

// Why a row was refused: what is in it (a value that is not finite, a column out of range); its columns do not ascend;
// its score or variance overflows; its step would; no memory is left for the journal.
enum class Refusal { none, contents, order, score, step, memory };

struct Outcome {
  Refusal refusal = Refusal::none;
  int64_t row = -1;  // the refused row; without a journal the numbers are then invalid
};

// Rounds for computing the weights, one per problem, or null for shapes of the margin rules.
struct View {
  const Round* rounds = nullptr;
  int64_t n_rounds = 0;
  const Round& of(int64_t head) const { return rounds[n_rounds > 1 ? head : 0]; }
};

// Output arrays for nonzero weights, with their capacity.
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
  // Chooses the budget's threshold, at least `least`, and its list from the model's numbers. False if memory is short.
  bool (*choose_anew)(const Model&, Budget&, double least);
};

}  // namespace sureline
