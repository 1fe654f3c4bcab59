// From the run-time description of rows and model to the types of the loops.
#pragma once

#include "loops/journal.hpp"
#include "spaces/confident_full.hpp"
#include "spaces/coordinates.hpp"
#include "spaces/diagonal.hpp"
#include "spaces/full.hpp"

namespace sureline::SURELINE_ISA {

// Memory that the loops need besides the model's own.
template <class T>
struct Workspace {
  Buffer<double> scores, solution;
  Buffer<T> scratch;
  Buffer<Round> rounds;
  bool reserve(const Model& model) {
    return scores.reserve(model.n_heads) && rounds.reserve(model.n_heads) &&
           (!has_factors(model.shape) ||
            (scratch.reserve(Full<T>::scratch_size(model.n_slots)) && solution.reserve(2 * model.n_slots)));
  }
};

template <class T, bool one_head, class F>
auto with_margin_space(const Model& model, Workspace<T>& workspace, const F& f) {
  T* w = static_cast<T*>(model.weights);
  switch (model.shape) {
    case Shape::identity:
      return f(Identity<T, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::diagonal:
      return f(Diagonal<T, false, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::theta:
    case Shape::confident:  // its covariance has the same form
      return f(Diagonal<T, true, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    default:
      return f(Full<T>{w, model.n_slots, model.n_heads, model.intercept, static_cast<T*>(model.factors),
                       workspace.scratch.data()});
  }
}

template <class T, bool one_head, class F>
auto with_coordinate_space(const Model& model, Workspace<T>& workspace, const F& f) {
  T* w = static_cast<T*>(model.weights);
  switch (model.shape) {
    case Shape::averaged:
      return f(Coordinates<Averaged<T>, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::confident:
      return f(Coordinates<Confident<T>, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::adaptive:
      return f(Coordinates<Adaptive<T, false>, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::proximal:
      return f(Coordinates<Adaptive<T, true>, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::truncated:
      return f(Coordinates<Truncated<T>, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::adaptive_truncated:
      return f(Coordinates<AdaptiveTruncated<T>, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    default:
      return f(ConfidentFull<T>{w, model.n_slots, model.n_heads, model.intercept, static_cast<T*>(model.factors),
                                workspace.scratch.data(), workspace.solution.data()});
  }
}

// Loops over rows are also compiled for a single head, which saves time.
template <class T, class F>
auto with_margin_space(const Model& model, Workspace<T>& workspace, const F& f) {
  return model.n_heads == 1 ? with_margin_space<T, true>(model, workspace, f)
                            : with_margin_space<T, false>(model, workspace, f);
}

template <class T, class F>
auto with_coordinate_space(const Model& model, Workspace<T>& workspace, const F& f) {
  return model.n_heads == 1 ? with_coordinate_space<T, true>(model, workspace, f)
                            : with_coordinate_space<T, false>(model, workspace, f);
}

// Only the shape that rows go through fastest is compiled for a single head as well.
template <class T, class F>
auto with_dual_space(const Model& model, const F& f) {
  T* w = static_cast<T*>(model.weights);
  switch (model.shape) {
    case Shape::dual:
      if (model.n_heads == 1) return f(Coordinates<Dual<T, 1>, true>{w, model.n_slots, model.n_heads, model.intercept});
      return f(Coordinates<Dual<T, 1>, false>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::dual_counted:
      return f(Coordinates<Dual<T, 2>, false>{w, model.n_slots, model.n_heads, model.intercept});
    case Shape::dual_smoothed:
      return f(Coordinates<Dual<T, 3>, false>{w, model.n_slots, model.n_heads, model.intercept});
    default:
      return f(Coordinates<OnSimplex<T>, false>{w, model.n_slots, model.n_heads, model.intercept});
  }
}

// The loops over dense rows, and over sparse ones. Each is a file of its own, compiled twice, which keeps
// each compilation small.
template <class T, bool dense>
Outcome follow_margins(const Task& task, const Model& model);
template <class T, bool dense>
Outcome descend(const Task& task, const Model& model);
template <class T, bool dense>
Outcome ascend(const Task& task, const Model& model);
template <class T, bool dense>
Outcome score(const Rows& rows, const Model& model, const View& view, double* out);
template <class T, bool dense>
Outcome variance(const Rows& rows, const Model& model, const View& view, double* out);

}  // namespace sureline::SURELINE_ISA
