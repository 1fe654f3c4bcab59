// Online-batch confidence-weighted learning: the pass over whitened rows.
#include <algorithm>
#include <vector>

#include "batch/narrow.hpp"
#include "batch/narrow_pass.hpp"
#include "batch/whitened.hpp"
#include "bindings.hpp"
#include "models.hpp"

namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

// Shared by all forms of the pass.
struct BatchTask {
  Vector<int32_t> labels;
  Vector<double> C;
  int q;
  Policy policy;
  Counts tally;
  Scalars moves;
  OutputVector<double> squares;

  BatchTask(const Vector<int32_t>& labels_, const Vector<double>& C_, int q_, Policy policy_, const Counts& tally_,
            const Scalars& moves_, const OutputVector<double>& squares_)
      : labels(labels_), C(C_), q(q_), policy(policy_), tally(tally_), moves(moves_), squares(squares_) {
    if (C.size() != labels.size()) refuse("The rows, labels and C do not fit.");
    if (q != 1 && q != 2) refuse("q must be 1 or 2.");
  }

  // The pass over that many rows with that many heads.
  WhitenedPass pass(int64_t n_rows, int64_t n_heads) const {
    if (int64_t(labels.size()) != n_rows) refuse("The rows, labels and C do not fit.");
    check_policy(policy, n_heads);
    const int64_t n_classes = policy == Policy::binary ? 2 : n_heads;
    if (int64_t(tally.shape(1)) != kTallyColumns || int64_t(tally.shape(0)) < n_classes)
      refuse("tally must have a row for each class.");
    const auto out_of_range = [&](int32_t label) { return label < 0 || label >= n_classes; };
    if (std::any_of(labels.data(), labels.data() + n_rows, out_of_range)) refuse("A label is out of range.");
    if (int64_t(moves.shape(0)) != n_rows || int64_t(moves.shape(1)) != n_heads || int64_t(squares.size()) != n_rows)
      refuse("The rows, moves and squares do not fit.");
    WhitenedPass result;
    result.moves = moves.data(), result.squares = squares.data();
    result.n_rows = n_rows, result.n_heads = n_heads, result.labels = labels.data(), result.C = C.data();
    result.q = q, result.policy = policy, result.tally = reinterpret_cast<Tally*>(tally.data());
    return result;
  }
};

int64_t run(WhitenedPass& pass) {
  std::vector<double> scores(size_t(pass.n_heads));
  pass.scores = scores.data();
  nb::gil_scoped_release release;
  return g_instruction_set->learn_whitened(pass);
}

NarrowRows narrow(const Input& rows, bool intercept) {
  NarrowRows narrow;
  narrow.single = is_single(rows, "rows");
  if (rows.ndim() != 2) refuse("rows must have two dimensions.");
  narrow.values = rows.data(), narrow.n_rows = int64_t(rows.shape(0)), narrow.n = int64_t(rows.shape(1));
  narrow.intercept = intercept;
  if (narrow.width() > kWidestNarrow) refuse("The rows are too wide.");
  return narrow;
}

}  // namespace

void bind_batch(nb::module_& m) {
  nb::class_<BatchTask>(m, "BatchTask",
                        "How to learn from the rows of a batch: their labels and prices, and who counts.")
      .def(nb::init<const Vector<int32_t>&, const Vector<double>&, int, Policy, const Counts&, const Scalars&,
                    const OutputVector<double>&>(),
           "labels"_a, "C"_a, "q"_a, "policy"_a, "tally"_a, "moves"_a, nb::kw_only(), "squares"_a);
  m.def(
      "learn_whitened",
      [](const Input& rows, const Scalars& w, const BatchTask& task) {
        const bool single = is_single(rows, "rows");
        if (rows.ndim() != 2 || rows.shape(1) != w.shape(1)) refuse("rows and w do not fit.");
        WhitenedPass pass = task.pass(int64_t(rows.shape(0)), int64_t(w.shape(0)));
        pass.single = single, pass.rows = rows.data(), pass.n_slots = int64_t(rows.shape(1)), pass.w = w.data();
        return run(pass);
      },
      "rows"_a, "w"_a, "task"_a,
      "One pass over whitened rows, in place of w and the tally. Returns the first row that is not finite, or -1.");
  m.def(
      "learn_products",
      [](const Scalars& V, const Scalars& f, const Scalars& steps, const BatchTask& task) {
        if (V.shape(0) != V.shape(1) || f.shape(1) != V.shape(0) || steps.shape(0) != f.shape(0) ||
            steps.shape(1) != f.shape(1))
          refuse("V, f and steps do not fit.");
        WhitenedPass pass = task.pass(int64_t(V.shape(0)), int64_t(f.shape(0)));
        pass.V = V.data(), pass.f = f.data(), pass.steps = steps.data();
        return run(pass);
      },
      "V"_a, "f"_a, "steps"_a, "task"_a,
      "The same by the inner products V of the whitened rows: from the scores f, in their place, to the steps alpha "
      "y.");
  m.attr("WIDEST_NARROW") = kWidestNarrow;
  m.attr("NARROW_LANES") = kNarrowLanes;
  m.def(
      "add_gram",
      [](const Input& rows, bool intercept, const Scalars& G) {
        const NarrowRows x = narrow(rows, intercept);
        if (int64_t(G.shape(0)) != x.width() || G.shape(1) != G.shape(0)) refuse("rows and G do not fit.");
        nb::gil_scoped_release release;
        g_instruction_set->add_gram(x, G.data());
      },
      "rows"_a, "intercept"_a, "G"_a, "Add the sum of x x' to the upper triangle of G; a 1 is put after each row.");
  m.def(
      "learn_narrow",
      [](const Input& rows, const Matrix& W, const Scalars& w, const BatchTask& task, bool intercept, int n_threads) {
        const NarrowRows x = narrow(rows, intercept);
        const int64_t stride = int64_t(w.shape(1));
        if (int64_t(W.shape(0)) != x.width() || W.shape(1) != W.shape(0) || stride < x.width() ||
            stride % kNarrowLanes != 0)
          refuse("rows, W and w do not fit.");
        WhitenedPass pass = task.pass(x.n_rows, int64_t(w.shape(0)));
        pass.w = w.data();
        std::vector<double> scores(size_t(pass.n_heads));
        pass.scores = scores.data();
        nb::gil_scoped_release release;
        return NarrowPass(x, W.data(), pass, stride, g_instruction_set->whiten, g_instruction_set->learn_whitened)
            .run(n_threads);
      },
      "rows"_a, "W"_a, "w"_a, "task"_a, nb::kw_only(), "intercept"_a, "n_threads"_a,
      "`whiten` and `learn_whitened` of all rows together. w is filled up with zeros to a multiple of NARROW_LANES.");
  m.def(
      "whiten",
      [](const Input& rows, bool intercept, const Matrix& W, const Scalars& out) {
        const NarrowRows x = narrow(rows, intercept);
        const int64_t stride = int64_t(out.shape(1));
        if (int64_t(W.shape(0)) != x.width() || W.shape(1) != W.shape(0) || int64_t(out.shape(0)) != x.n_rows ||
            stride < x.width() || stride % kNarrowLanes != 0)
          refuse("rows, W and out do not fit.");
        nb::gil_scoped_release release;
        g_instruction_set->whiten(x, W.data(), out.data(), stride);
      },
      "rows"_a, "intercept"_a, "W"_a, "out"_a,
      "Each row, a 1 put after it, times the upper triangular W; filled up with zeros to the width of out.");
}
