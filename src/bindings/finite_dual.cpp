// Dual coordinate ascent over rows that are all there, with the losses and regularisers of O-DCA, for Python.
#include "sdca/finite_dual.hpp"

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
struct HeldFiniteDual {
  FiniteDualProblem problem;
  nb::object rows;  // keeps them alive
  Vector<int32_t> labels;
  Vector<double> sample_weight, norms;

  HeldFiniteDual(nb::pointer_and_handle<HeldRows> any_rows, const Vector<int32_t>& labels_, int32_t positive,
                 const Vector<double>& sample_weight_, const Vector<double>& norms_, double rho, Loss loss,
                 double epsilon, Regularizer regularizer, double delta, bool intercept)
      : rows(nb::borrow(any_rows.h)), labels(labels_), sample_weight(sample_weight_), norms(norms_) {
    problem.rows = any_rows.p->rows;
    check_size("labels", labels.size(), problem.rows.n_rows);
    check_size("sample_weight", sample_weight.size(), problem.rows.n_rows);
    check_size("norms", norms.size(), problem.rows.n_rows);
    if (!(rho > 0) || !std::isfinite(rho)) refuse("rho must be positive and finite.");
    if (!(epsilon > 0) || !std::isfinite(epsilon)) refuse("epsilon must be positive and finite.");
    if (!(delta >= 0) || !std::isfinite(delta)) refuse("delta must be finite and must not be negative.");
    problem.loss = {loss, epsilon};
    problem.regularizer = regularizer;
    problem.rho = rho;
    problem.delta = delta;
    problem.labels = labels.data();
    problem.positive = positive;
    problem.sample_weight = sample_weight.data();
    problem.norms = norms.data();
    for (size_t i = 0; i < sample_weight.size(); ++i) problem.n += sample_weight.data()[i];
    problem.intercept = intercept;
  }

  void check(size_t n_b, size_t n_w_prime) const {
    check_size("b", n_b, problem.rows.n_rows);
    check_size("w_prime", n_w_prime, problem.rows.n_columns + 1);
  }
};

void ascend_once(const HeldFiniteDual& held, Numbers b, Numbers w_prime, const std::optional<Vector<int64_t>>& order) {
  held.check(b.size(), w_prime.size());
  check_order(order, held.problem.rows.n_rows);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = ascend(held.problem, order ? order->data() : nullptr, order ? int64_t(order->size()) : 0, b.data(),
                     w_prime.data());
  }
  check(outcome);
}

double gap_of(const HeldFiniteDual& held, const Vector<double>& b, const Vector<double>& w_prime) {
  held.check(b.size(), w_prime.size());
  double gap = 0;
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = dual_gap(held.problem, b.data(), w_prime.data(), &gap);
  }
  check(outcome);
  return gap;
}

}  // namespace

void bind_finite_dual(nb::module_& m) {
  nb::class_<HeldFiniteDual>(m, "FiniteDual",
                             "A problem of two classes, one of them `positive`, for dual coordinate ascent. b has an "
                             "entry for each row; w_prime one for the intercept and then one for each column.")
      .def(nb::init<nb::pointer_and_handle<HeldRows>, const Vector<int32_t>&, int32_t, const Vector<double>&,
                    const Vector<double>&, double, Loss, double, Regularizer, double, bool>(),
           "rows"_a, "labels"_a, "positive"_a, "sample_weight"_a, "norms"_a, nb::kw_only(), "rho"_a, "loss"_a,
           "epsilon"_a, "regularizer"_a, "delta"_a, "intercept"_a)
      .def("ascend", &ascend_once, "b"_a, "w_prime"_a, "order"_a.none(),
           "A step for each row of `order`, in place; for all in turn if it is None.")
      .def("gap", &gap_of, "b"_a, "w_prime"_a, "The duality gap.");
}
