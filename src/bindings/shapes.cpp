// The shapes and policies of models, and the columns of the arrays that Python owns: as the structs of the core are.
#include <nanobind/nanobind.h>

#include <cstddef>

#include "bindings.hpp"
#include "models.hpp"

namespace nb = nanobind;
using namespace sureline;

namespace {

// Separate types, so that columns of different arrays cannot be confused.
enum class MemoryColumn {};
enum class RoundColumn {};
enum class AscentColumn {};
enum class TallyColumn {};

#define SURELINE_COLUMN(Column, Struct, member) \
  value(#member, Column(offsetof(Struct, member) / sizeof(Struct::member)))

}  // namespace

void bind_shapes(nb::module_& m) {
  nb::enum_<Shape>(m, "Shape", "How the numbers of one weight are shaped, and how a weight comes from them.")
      .value("identity", Shape::identity)
      .value("diagonal", Shape::diagonal)
      .value("theta", Shape::theta)
      .value("full", Shape::full)
      .value("averaged", Shape::averaged)
      .value("confident", Shape::confident)
      .value("confident_full", Shape::confident_full)
      .value("adaptive", Shape::adaptive)
      .value("proximal", Shape::proximal)
      .value("truncated", Shape::truncated)
      .value("adaptive_truncated", Shape::adaptive_truncated)
      .value("dual", Shape::dual)
      .value("dual_counted", Shape::dual_counted)
      .value("dual_smoothed", Shape::dual_smoothed)
      .value("simplex", Shape::simplex)
      .def_prop_ro("width", &width_of, "How many numbers a weight is computed from.")
      .def_prop_ro("is_dual", &is_dual, "Of online dual coordinate ascent.")
      .def_prop_ro("has_rounds", &has_rounds, "Weights are computed with a round: no margin rule works on it.")
      .def_prop_ro("has_factors", &has_factors, "The covariance is full, and lies in factors.")
      .def_prop_ro("has_variances", &has_variances, "The second number of a weight is its variance.")
      .def_prop_ro("has_roots", &has_roots, "The second number of a weight is a root, and not negative.")
      .def_prop_ro("absorbs", &absorbs, "A row is taken in before it is predicted.")
      .def_prop_ro("has_budget", &has_budget, "A threshold can keep a budget.")
      .def_prop_ro("has_selection", &has_selection, "Features can be selected.");
  nb::enum_<Policy>(m, "Policy", "Which heads an example moves.")
      .value("binary", Policy::binary, "The only one.")
      .value("rival", Policy::rival, "That of its class, and the best other one.")
      .value("ovr", Policy::one_vs_rest, "Every one, each a problem of its own.")
      .value("regression", Policy::regression, "The only one, whose score is to be the target.");
  nb::enum_<MemoryColumn>(m, "MemoryColumn", "The columns of `memory`, which has a row for each problem.")
      .SURELINE_COLUMN(MemoryColumn, Memory, weight_scale)
      .SURELINE_COLUMN(MemoryColumn, Memory, covariance_scale)
      .SURELINE_COLUMN(MemoryColumn, Memory, norm2)
      .SURELINE_COLUMN(MemoryColumn, Memory, error_growth)
      .SURELINE_COLUMN(MemoryColumn, Memory, k)
      .SURELINE_COLUMN(MemoryColumn, Memory, c)
      .SURELINE_COLUMN(MemoryColumn, Memory, t)
      .SURELINE_COLUMN(MemoryColumn, Memory, cut)
      .SURELINE_COLUMN(MemoryColumn, Memory, bound)
      .SURELINE_COLUMN(MemoryColumn, Memory, resolution);
  nb::enum_<RoundColumn>(m, "RoundColumn", "The columns of `rounds`, which has a row for each problem.")
      .SURELINE_COLUMN(RoundColumn, Round, eta)
      .SURELINE_COLUMN(RoundColumn, Round, threshold)
      .SURELINE_COLUMN(RoundColumn, Round, scale)
      .SURELINE_COLUMN(RoundColumn, Round, delta)
      .SURELINE_COLUMN(RoundColumn, Round, limit)
      .SURELINE_COLUMN(RoundColumn, Round, r)
      .SURELINE_COLUMN(RoundColumn, Round, cut);
  nb::enum_<AscentColumn>(m, "AscentColumn", "The columns of the scalars of a DualMemory, a row for each problem.")
      .SURELINE_COLUMN(AscentColumn, Ascent, total)
      .SURELINE_COLUMN(AscentColumn, Ascent, growth)
      .SURELINE_COLUMN(AscentColumn, Ascent, turned)
      .SURELINE_COLUMN(AscentColumn, Ascent, sum)
      .SURELINE_COLUMN(AscentColumn, Ascent, reach)
      .SURELINE_COLUMN(AscentColumn, Ascent, since)
      .SURELINE_COLUMN(AscentColumn, Ascent, cut)
      .SURELINE_COLUMN(AscentColumn, Ascent, loss);
  nb::enum_<TallyColumn>(m, "TallyColumn", "The columns of `tally`, which has a row for each class.")
      .SURELINE_COLUMN(TallyColumn, Tally, seen)
      .SURELINE_COLUMN(TallyColumn, Tally, mistakes)
      .SURELINE_COLUMN(TallyColumn, Tally, updates);
}
