// Stochastic dual coordinate ascent, and sums over rows in double, for Python.
#include "sdca/sdca.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "bindings.hpp"
#include "rows/products.hpp"
#include "rows_again.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

void check_threshold(double threshold, Regularizer regularizer) {
  if (!(threshold >= 0) || !std::isfinite(threshold)) refuse("threshold must be finite and must not be negative.");
  if (threshold > 0 && regularizer != Regularizer::elastic_net) refuse("threshold must be 0 but for the elastic net.");
}

SdcaObjective checked_objective(Loss loss, double epsilon, double rho, Regularizer regularizer, double threshold,
                                bool intercept, SdcaStep step) {
  if (!(rho > 0) || !std::isfinite(rho)) refuse("rho must be positive and finite.");
  if (!(epsilon > 0) || !std::isfinite(epsilon)) refuse("epsilon must be positive and finite.");
  check_threshold(threshold, regularizer);
  if (step == SdcaStep::bound &&
      ((loss != Loss::hinge && loss != Loss::squared_hinge) || regularizer == Regularizer::kl))
    refuse("With the bound the loss must be hinge or squared_hinge, and the regularizer l2 or elastic_net.");
  return {{loss, epsilon}, rho, regularizer, threshold, intercept, step};
}

// One problem of two classes. Its arrays belong to Python; their sizes are checked once, here.
struct HeldSdca {
  SdcaProblem problem;
  nb::object rows;  // keeps them alive
  Vector<int32_t> labels;
  Vector<double> sample_weight, norms;

  HeldSdca(nb::pointer_and_handle<HeldRows> any_rows, const Vector<int32_t>& labels_, int32_t positive,
           const Vector<double>& sample_weight_, const Vector<double>& norms_, const SdcaObjective& objective)
      : rows(nb::borrow(any_rows.h)), labels(labels_), sample_weight(sample_weight_), norms(norms_) {
    problem.objective = objective;
    problem.rows = any_rows.p->rows;
    check_size("labels", labels.size(), problem.rows.n_rows);
    check_size("sample_weight", sample_weight.size(), problem.rows.n_rows);
    check_size("norms", norms.size(), problem.rows.n_rows);
    problem.labels = labels.data();
    problem.positive = positive;
    problem.sample_weight = sample_weight.data();
    problem.norms = norms.data();
    for (size_t i = 0; i < sample_weight.size(); ++i) problem.n += sample_weight.data()[i];
  }

  void check(size_t n_duals, size_t n_v) const {
    check_size("duals", n_duals, problem.rows.n_rows);
    check_size("v", n_v, problem.rows.n_columns + 1);
  }
};

void ascend_once(const HeldSdca& held, Numbers duals, Numbers v, const std::optional<Vector<int64_t>>& order) {
  held.check(duals.size(), v.size());
  check_order(order, held.problem.rows.n_rows);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = ascend(held.problem, order ? order->data() : nullptr, order ? int64_t(order->size()) : 0, duals.data(),
                     v.data());
  }
  check(outcome);
}

double gap_of(const HeldSdca& held, const Vector<double>& duals, const Vector<double>& v) {
  held.check(duals.size(), v.size());
  double gap = 0;
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = dual_gap(held.problem, duals.data(), v.data(), &gap);
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

void bind_sdca(nb::module_& m) {
  nb::enum_<SdcaStep>(m, "SdcaStep", "To the maximum of the dual objective, or of a lower bound of it.")
      .value("exact", SdcaStep::exact)
      .value("bound", SdcaStep::bound);
  nb::class_<SdcaObjective>(m, "SdcaObjective",
                            "What is minimised, and by which step: the mean loss and rho times the regulariser.")
      .def(
          "__init__",
          [](SdcaObjective* self, Loss loss, double epsilon, double rho, Regularizer regularizer, double threshold,
             bool intercept, SdcaStep step) {
            new (self) SdcaObjective(checked_objective(loss, epsilon, rho, regularizer, threshold, intercept, step));
          },
          nb::kw_only(), "loss"_a, "epsilon"_a = 1.0, "rho"_a, "regularizer"_a, "threshold"_a = 0.0,
          "intercept"_a = true, "step"_a = SdcaStep::exact)
      .def_ro("regularizer", &SdcaObjective::regularizer)
      .def_ro("intercept", &SdcaObjective::intercept)
      .def_prop_ro("scale", &SdcaObjective::scale, "What v is divided by: 1, or rho for the bound.");
  nb::class_<HeldSdca>(m, "Sdca",
                       "A problem of two classes, one of them `positive`, for dual coordinate ascent. `duals` has an "
                       "entry for each row; `v` one for the intercept and then one for each column. The weights are v, "
                       "truncated by `threshold` (elastic net) or on the simplex (kl), and divided by `scale`.")
      .def(nb::init<nb::pointer_and_handle<HeldRows>, const Vector<int32_t>&, int32_t, const Vector<double>&,
                    const Vector<double>&, const SdcaObjective&>(),
           "rows"_a, "labels"_a, "positive"_a, "sample_weight"_a, "norms"_a, "objective"_a)
      .def_prop_rw(
          "threshold", [](const HeldSdca& held) { return held.problem.objective.threshold; },
          [](HeldSdca& held, double threshold) {
            check_threshold(threshold, held.problem.objective.regularizer);
            held.problem.objective.threshold = threshold;
          },
          "Of the elastic net: delta, or rho delta for the bound. It may change from one call to the next.")
      .def("ascend", &ascend_once, "duals"_a, "v"_a, "order"_a.none(),
           "A step for each row of `order`, in place; for all in turn if it is None.")
      .def("gap", &gap_of, "duals"_a, "v"_a, "The duality gap.");
  m.def("squared_norms", &norms_of, "rows"_a, "out"_a, "out[row] = |x|^2, looking at everything that is in the rows.");
  m.def("linear_scores", &scores_of, "rows"_a, "weights"_a, "out"_a, "out[row] = weights[0] + weights[1:] . x.");
}
