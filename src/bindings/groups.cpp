// Learning in groups of features, for Python.
#include "groups/groups.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "models.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

struct HeldSelection {
  std::unique_ptr<groups::Selection> selection;
  bool single;
  int64_t n_columns;
};

groups::Batch checked_batch(int64_t n_rows, const Vector<double>& C, const Vector<int32_t>& labels, int32_t positive) {
  if (int64_t(C.size()) != n_rows || int64_t(labels.size()) != n_rows) refuse("X, C and labels differ in length.");
  return {C.data(), labels.data(), positive};
}

std::vector<int64_t> checked_columns(const Vector<int64_t>& columns, const std::vector<int64_t>& sizes,
                                     int64_t n_columns) {
  std::vector<int64_t> result(columns.data(), columns.data() + columns.size());
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    if (size < 1 || size > int64_t(result.size()) - begin) refuse("sizes does not fit columns.");
    for (int64_t i = begin; i < begin + size; ++i)
      if (result[size_t(i)] < 0 || result[size_t(i)] >= n_columns ||
          (i > begin && result[size_t(i)] <= result[size_t(i) - 1]))
        refuse("The columns of a group must ascend and be in range.");
    begin += size;
  }
  if (begin != int64_t(result.size())) refuse("sizes does not fit columns.");
  return result;
}

void check_same_rows(const HeldSelection& held, const HeldRows& rows) {
  if (rows.rows.single != held.single || rows.rows.n_rows != held.selection->n_rows())
    refuse("These are not the rows that the selection was begun with.");
}

// The problem of one class against the rest over all groups: the parts that all passes share.
struct GroupProblem {
  Vector<double> C;
  Vector<int32_t> labels;
  int32_t positive;
  groups::Objective objective;

  GroupProblem(const Vector<double>& C_, const Vector<int32_t>& labels_, int32_t positive_, double sigma, int q,
               std::optional<double> P_b)
      : C(C_), labels(labels_), positive(positive_) {
    if (!(sigma > 0) || (q != 1 && q != 2) || (P_b && !(*P_b > 0))) refuse("sigma and P_b must be positive, q 1 or 2.");
    objective.sigma = sigma;
    objective.q = q;
    objective.intercept = P_b.has_value();
    objective.P_b = P_b.value_or(1.0);
  }
  groups::Batch batch(const groups::Selection& selection) const {
    if (selection.n_ready() != selection.n_groups()) refuse("A group has no covariance yet.");
    return checked_batch(selection.n_rows(), C, labels, positive);
  }
};

groups::Duals checked_duals(const groups::Selection& selection, const OutputVector<double>& alpha,
                            const OutputVector<double>& z, const OutputVector<double>& z_b) {
  if (int64_t(alpha.size()) != selection.n_rows() || int64_t(z.size()) != selection.n_selected() || z_b.size() != 1)
    refuse("alpha, z and z_b do not fit the selection.");
  return {alpha.data(), z.data(), z_b.data()};
}

groups::Columns column_table(const Vector<int64_t>& columns, int64_t n_columns) {
  std::vector<int64_t> sorted(columns.data(), columns.data() + columns.size()), positions(columns.size());
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = int64_t(i);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] < 0 || sorted[i] >= n_columns || (i > 0 && sorted[i] == sorted[i - 1]))
      refuse("The columns must be in range, and none may come twice.");
  return {columns.data(), positions.data(), int64_t(columns.size())};
}

void score(const HeldRows& held, int64_t n_columns, const Vector<int64_t>& columns, const Matrix& weights,
           const Vector<double>& intercepts, const Scalars& out) {
  const int64_t n_heads = int64_t(intercepts.size());
  if (held.rows.n_columns > n_columns || int64_t(weights.shape(0)) != int64_t(columns.size()) ||
      int64_t(weights.shape(1)) != n_heads || int64_t(out.shape(0)) != held.rows.n_rows ||
      int64_t(out.shape(1)) != n_heads)
    refuse("The arrays of the model, X and out do not fit each other.");
  const groups::Columns table = column_table(columns, n_columns);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = groups::score(held.rows, table, weights.data(), intercepts.data(), n_heads, out.data());
  }
  check(outcome);
}

void variance(const HeldRows& held, int64_t n_columns, const Vector<int64_t>& columns,
              const std::vector<int64_t>& sizes, const Vector<double>& S, double intercept,
              const OutputVector<double>& out) {
  int64_t n = 0, entries = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > int64_t(columns.size())) refuse("sizes does not fit columns.");
    n += size, entries += size * size;
  }
  if (held.rows.n_columns > n_columns || n != int64_t(columns.size()) || entries != int64_t(S.size()) ||
      int64_t(out.size()) != held.rows.n_rows)
    refuse("The arrays of the model, X and out do not fit each other.");
  const groups::Columns table = column_table(columns, n_columns);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = groups::variance(held.rows, table, sizes, S.data(), intercept, out.data());
  }
  check(outcome);
}

}  // namespace

void bind_groups(nb::module_& m) {
  nb::class_<GroupProblem>(m, "GroupProblem", "The problem of one class against the rest, over all groups.")
      .def(nb::init<const Vector<double>&, const Vector<int32_t>&, int32_t, double, int, std::optional<double>>(),
           "C"_a, "labels"_a, "positive"_a, nb::kw_only(), "sigma"_a, "q"_a, "P_b"_a.none());
  nb::class_<HeldSelection>(m, "GroupRows", "The rows of a batch, reduced to groups of selected columns.")
      .def(
          "__init__",
          [](HeldSelection* self, const HeldRows& rows) {
            new (self) HeldSelection{groups::make_selection(rows.rows.n_rows, rows.rows.single), rows.rows.single,
                                     rows.rows.n_columns};
          },
          "rows"_a)
      .def_prop_ro("nbytes", [](const HeldSelection& held) { return held.selection->nbytes(); })
      .def(
          "add_groups",
          [](HeldSelection& held, const HeldRows& rows, const Vector<double>& C, const Vector<int64_t>& columns,
             const std::vector<int64_t>& sizes, std::optional<int64_t> most_bytes) {
            check_same_rows(held, rows);
            if (int64_t(C.size()) != rows.rows.n_rows) refuse("X and C differ in length.");
            const std::vector<int64_t> checked = checked_columns(columns, sizes, rows.rows.n_columns);
            Outcome outcome;
            {
              nb::gil_scoped_release release;
              outcome = held.selection->add_groups(rows.rows, C.data(), checked, sizes, most_bytes.value_or(INT64_MAX));
            }
            check(outcome);
          },
          "rows"_a, "C"_a, "columns"_a, "sizes"_a, "most_bytes"_a.none(),
          "More groups, of so many ascending columns each. Refused for 'memory' if the arrays would take "
          "more than most_bytes. If anything was refused, nothing was changed.")
      .def(
          "gram",
          [](const HeldSelection& held, int64_t group, const Vector<double>& weight) {
            if (group < 0 || group >= held.selection->n_groups()) refuse("There is no such group.");
            if (int64_t(weight.size()) != held.selection->n_rows()) refuse("X and weight differ in length.");
            const size_t n = size_t(held.selection->size(group));
            double* data = new double[n * n];
            nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
            {
              nb::gil_scoped_release release;
              held.selection->gram(group, weight.data(), data);
            }
            return nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig>(data, {n, n}, owner);
          },
          "group"_a, "weight"_a, "sum_i weight_i x_i x_i' of the columns of a group.")
      .def(
          "set_covariance",
          [](HeldSelection& held, const std::optional<Matrix>& S) {
            const int64_t group = held.selection->n_ready();
            if (group == held.selection->n_groups()) refuse("All groups have their covariance.");
            const int64_t n = held.selection->size(group);
            if (S && (int64_t(S->shape(0)) != n || int64_t(S->shape(1)) != n)) refuse("S does not fit the group.");
            if (group > 0 && S.has_value() != held.selection->has_covariance())
              refuse("Either all groups have a covariance, or none.");
            nb::gil_scoped_release release;
            held.selection->set_covariance(S ? S->data() : nullptr);
          },
          "S"_a.none(),
          "The covariance of the next group, in their order; None is the identity, for all groups or none.")
      .def(
          "sweep",
          [](const HeldSelection& held, const GroupProblem& problem, const OutputVector<double>& alpha,
             const OutputVector<double>& z, const OutputVector<double>& z_b, bool exact,
             const std::optional<OutputVector<double>>& scores, const std::optional<OutputVector<uint8_t>>& moved) {
            const groups::Batch batch = problem.batch(*held.selection);
            const groups::Duals duals = checked_duals(*held.selection, alpha, z, z_b);
            groups::Objective objective = problem.objective;
            objective.exact = exact;
            const int64_t n_rows = held.selection->n_rows();
            if ((scores && int64_t(scores->size()) != n_rows) || (moved && int64_t(moved->size()) != n_rows))
              refuse("scores or moved does not fit X.");
            groups::Sweep sweep;
            {
              nb::gil_scoped_release release;
              sweep = held.selection->sweep(batch, objective, duals, scores ? scores->data() : nullptr,
                                            moved ? moved->data() : nullptr);
            }
            check(sweep.outcome);
            return sweep.gap;
          },
          "problem"_a, "alpha"_a, "z"_a, "z_b"_a, nb::kw_only(), "exact"_a, "scores"_a.none() = nb::none(),
          "moved"_a.none() = nb::none(),
          "One pass of dual ascent over the rows, with the paper's steps or to the maximum along each row. Returns "
          "the sum of what each row added to the duality gap in its turn.")
      .def(
          "value",
          [](const HeldSelection& held, const GroupProblem& problem, const OutputVector<double>& alpha,
             const OutputVector<double>& z, const OutputVector<double>& z_b, bool gap) {
            const groups::Batch batch = problem.batch(*held.selection);
            const groups::Duals duals = checked_duals(*held.selection, alpha, z, z_b);
            nb::gil_scoped_release release;
            const groups::Value value = held.selection->value(batch, problem.objective, duals, gap);
            return std::make_tuple(value.dual, value.theta, value.gap);
          },
          "problem"_a, "alpha"_a, "z"_a, "z_b"_a, nb::kw_only(), "gap"_a = false,
          "The dual of (16), the value of (13), and the duality gap if it is asked for.");

  m.def(
      "add_scores",
      [](const HeldRows& rows, const Vector<double>& C, const Vector<int32_t>& labels, int32_t positive,
         const Vector<double>& alpha, const OutputVector<double>& s) {
        const groups::Batch batch = checked_batch(rows.rows.n_rows, C, labels, positive);
        if (alpha.size() != C.size() || int64_t(s.size()) != rows.rows.n_columns) refuse("alpha or s does not fit X.");
        Outcome outcome;
        {
          nb::gil_scoped_release release;
          outcome = groups::add_scores(rows.rows, batch, alpha.data(), s.data());
        }
        check(outcome);
      },
      "rows"_a, "C"_a, "labels"_a, "positive"_a, "alpha"_a, "s"_a, "s[j] += sum_i C_i alpha_i y_i x_ij.");
  m.def(
      "best_columns",
      [](const Vector<double>& scores, int64_t most) {
        nb::gil_scoped_release release;
        return groups::best(scores.data(), int64_t(scores.size()), most);
      },
      "scores"_a, "most"_a, "The columns with the largest positive scores, of equal ones the lower first.");
  m.def("group_score", &score, "rows"_a, "n_columns"_a, "columns"_a, "weights"_a, "intercepts"_a, "out"_a,
        "out[row, head] = intercept + weights . x of the selected columns.");
  m.def("group_variance", &variance, "rows"_a, "n_columns"_a, "columns"_a, "sizes"_a, "S"_a, nb::kw_only(),
        "intercept"_a, "out"_a, "out[row] = intercept + the sum of x'Sx over the groups.");
}
