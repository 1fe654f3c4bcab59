// Proximal dual coordinate ascent, and what goes over rows with double weights, for Python.
#include "sdca/dual_ascent.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <optional>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "rows_again.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

// One problem of two classes. The arrays are Python's; their sizes are checked here, once and for all.
struct HeldProblem {
  DualProblem problem;
  nb::object rows;  // keeps them alive
  Vector<int32_t> labels;
  Vector<double> sample_weight, norms;

  HeldProblem(nb::pointer_and_handle<HeldRows> any_rows, const Vector<int32_t>& labels_, int32_t positive,
              const Vector<double>& sample_weight_, const Vector<double>& norms_, Loss loss, double sigma,
              bool intercept)
      : rows(nb::borrow(any_rows.h)), labels(labels_), sample_weight(sample_weight_), norms(norms_) {
    problem.rows = any_rows.p->rows;
    check_size("labels", labels.size(), problem.rows.n_rows);
    check_size("sample_weight", sample_weight.size(), problem.rows.n_rows);
    check_size("norms", norms.size(), problem.rows.n_rows);
    if (loss != Loss::hinge && loss != Loss::squared_hinge) refuse("loss must be hinge or squared_hinge.");
    if (!(sigma > 0) || !std::isfinite(sigma)) refuse("sigma must be positive and finite.");
    problem.labels = labels.data();
    problem.positive = positive;
    problem.sample_weight = sample_weight.data();
    problem.norms = norms.data();
    for (size_t i = 0; i < sample_weight.size(); ++i) problem.n += sample_weight.data()[i];
    problem.loss = loss;
    problem.sigma = sigma;
    problem.intercept = intercept;
  }

  DualProblem with(double lam, size_t n_alpha, size_t n_z) const {
    if (!(lam >= 0)) refuse("lam must not be negative.");
    check_size("alpha", n_alpha, problem.rows.n_rows);
    check_size("z", n_z, problem.rows.n_columns + 1);
    DualProblem penalised = problem;
    penalised.lam = lam;
    return penalised;
  }
};

void ascend_once(const HeldProblem& held, double lam, Numbers alpha, Numbers z,
                 const std::optional<Vector<int64_t>>& order) {
  const DualProblem problem = held.with(lam, alpha.size(), z.size());
  check_order(order, problem.rows.n_rows);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome =
        ascend(problem, order ? order->data() : nullptr, order ? int64_t(order->size()) : 0, alpha.data(), z.data());
  }
  check(outcome);
}

double gap_of(const HeldProblem& held, double lam, const Vector<double>& alpha, const Vector<double>& z) {
  const DualProblem problem = held.with(lam, alpha.size(), z.size());
  double gap = 0;
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = dual_gap(problem, alpha.data(), z.data(), &gap);
  }
  check(outcome);
  return gap;
}

void norms_of(const HeldRows& held, Numbers out) {
  check_size("out", out.size(), held.rows.n_rows);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = squared_norms(held.rows, out.data());
  }
  check(outcome);
}

void scores_of(const HeldRows& held, const Vector<double>& weights, Numbers out) {
  check_size("weights", weights.size(), held.rows.n_columns + 1);
  check_size("out", out.size(), held.rows.n_rows);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = linear_scores(held.rows, weights.data(), out.data());
  }
  check(outcome);
}

}  // namespace

void bind_dual_ascent(nb::module_& m) {
  nb::class_<HeldProblem>(m, "DualAscent",
                          "A problem of two classes, one of them `positive`, for dual coordinate ascent. alpha has an "
                          "entry for each row; z one for the intercept and then one for each column.")
      .def(nb::init<nb::pointer_and_handle<HeldRows>, const Vector<int32_t>&, int32_t, const Vector<double>&,
                    const Vector<double>&, Loss, double, bool>(),
           "rows"_a, "labels"_a, "positive"_a, "sample_weight"_a, "norms"_a, nb::kw_only(), "loss"_a, "sigma"_a,
           "intercept"_a)
      .def("ascend", &ascend_once, "lam"_a, "alpha"_a, "z"_a, "order"_a.none(),
           "A step for each row of `order`, in place; for all in turn if it is None.")
      .def("gap", &gap_of, "lam"_a, "alpha"_a, "z"_a, "The duality gap.");
  m.def("squared_norms", &norms_of, "rows"_a, "out"_a, "out[row] = |x|^2, looking at everything that is in the rows.");
  m.def("linear_scores", &scores_of, "rows"_a, "weights"_a, "out"_a, "out[row] = weights[0] + weights[1:] . x.");
}
