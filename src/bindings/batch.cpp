// Online-batch confidence-weighted learning: the pass over whitened rows.
#include "batch/whitened.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <vector>

#include "bindings.hpp"
#include "models.hpp"
#include "batch/narrow.hpp"
#include "batch/narrow_pass.hpp"

namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

// f for the instruction set that was chosen.
#define SURELINE_BEST(f) g_instruction_set->f

// What both forms have in common, checked; `n_rows` rows and `n_heads` heads.
void common(WhitenedPass& pass, int64_t n_rows, int64_t n_heads, const Vector<int32_t>& labels, const Vector<double>& C,
            int q, const std::string& policy, const Counts& tally) {
  if (int64_t(labels.size()) != n_rows || int64_t(C.size()) != n_rows) refuse("The rows, labels and C do not fit.");
  if (q != 1 && q != 2) refuse("q must be 1 or 2.");
  pass.n_rows = n_rows, pass.n_heads = n_heads, pass.labels = labels.data(), pass.C = C.data(), pass.q = q;
  pass.policy = checked_policy(policy, n_heads);
  const int64_t n_classes = pass.policy == Policy::binary ? 2 : n_heads;
  if (tally.shape(1) != 3 || int64_t(tally.shape(0)) < n_classes) refuse("tally must have a row for each class.");
  const auto out_of_range = [&](int32_t label) { return label < 0 || label >= n_classes; };
  if (std::any_of(pass.labels, pass.labels + n_rows, out_of_range)) refuse("A label is out of range.");
  pass.tally = reinterpret_cast<Tally*>(tally.data());
}

int64_t run(WhitenedPass& pass) {
  std::vector<double> scores(size_t(pass.n_heads));
  pass.scores = scores.data();
  nb::gil_scoped_release release;
  return SURELINE_BEST(learn_whitened)(pass);
}

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

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

void bind_whitened(nb::module_& m) {
  m.def(
      "learn_whitened",
      [](const Input& rows, const Vector<int32_t>& labels, const Vector<double>& C, int q, const Scalars& w,
         const std::string& policy, const Counts& tally) {
        WhitenedPass pass;
        pass.single = is_single(rows, "rows");
        if (rows.ndim() != 2 || rows.shape(1) != w.shape(1)) refuse("rows and w do not fit.");
        common(pass, int64_t(rows.shape(0)), int64_t(w.shape(0)), labels, C, q, policy, tally);
        pass.rows = rows.data(), pass.n_slots = int64_t(rows.shape(1)), pass.w = w.data();
        return run(pass);
      },
      "rows"_a, "labels"_a, "C"_a, "q"_a, "w"_a, "policy"_a, "tally"_a,
      "One pass over whitened rows, in place of w and tally. Returns the first row that is not finite, or -1.");
  m.def(
      "learn_products",
      [](const Scalars& V, const Vector<int32_t>& labels, const Vector<double>& C, int q, const Scalars& f,
         const Scalars& steps, const std::string& policy, const Counts& tally) {
        WhitenedPass pass;
        if (V.shape(0) != V.shape(1) || f.shape(1) != V.shape(0) || steps.shape(0) != f.shape(0) ||
            steps.shape(1) != f.shape(1))
          refuse("V, f and steps do not fit.");
        common(pass, int64_t(V.shape(0)), int64_t(f.shape(0)), labels, C, q, policy, tally);
        pass.V = V.data(), pass.f = f.data(), pass.steps = steps.data();
        return run(pass);
      },
      "V"_a, "labels"_a, "C"_a, "q"_a, "f"_a, "steps"_a, "policy"_a, "tally"_a,
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
        SURELINE_BEST(add_gram)(x, G.data());
      },
      "rows"_a, "intercept"_a, "G"_a, "Add the sum of x x' to the upper triangle of G; a 1 is put after each row.");
  m.def(
      "learn_narrow",
      [](const Input& rows, bool intercept, const Matrix& W, const Vector<int32_t>& labels, const Vector<double>& C,
         int q, const Scalars& w, const std::string& policy, const Counts& tally, int n_threads) {
        const NarrowRows x = narrow(rows, intercept);
        const int64_t stride = int64_t(w.shape(1));
        if (int64_t(W.shape(0)) != x.width() || W.shape(1) != W.shape(0) || stride < x.width() ||
            stride % kNarrowLanes != 0)
          refuse("rows, W and w do not fit.");
        WhitenedPass pass;
        common(pass, x.n_rows, int64_t(w.shape(0)), labels, C, q, policy, tally);
        pass.w = w.data();
        std::vector<double> scores(size_t(pass.n_heads));
        pass.scores = scores.data();
        nb::gil_scoped_release release;
        return NarrowPass(x, W.data(), pass, stride, SURELINE_BEST(whiten), SURELINE_BEST(learn_whitened))
            .run(n_threads);
      },
      "rows"_a, "intercept"_a, "W"_a, "labels"_a, "C"_a, "q"_a, "w"_a, "policy"_a, "tally"_a, "n_threads"_a,
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
        SURELINE_BEST(whiten)(x, W.data(), out.data(), stride);
      },
      "rows"_a, "intercept"_a, "W"_a, "out"_a,
      "Each row, a 1 put after it, times the upper triangular W; filled up with zeros to the width of out.");
}
