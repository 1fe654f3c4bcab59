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
            (scratch.reserve(Full<T, false>::scratch_size(model.n_slots)) && solution.reserve(2 * model.n_slots)));
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
    case Shape::confident:  // for its covariance, which is the same
      return f(Diagonal<T, true, one_head>{w, model.n_slots, model.n_heads, model.intercept});
    default:
      // One for any number of heads: nearly all of its time goes into factors, which are of one head.
      return f(Full<T, false>{w, model.n_slots, model.n_heads, model.intercept, static_cast<T*>(model.factors),
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
      return f(ConfidentFull<T, one_head>{w, model.n_slots, model.n_heads, model.intercept,
                                          static_cast<T*>(model.factors), workspace.scratch.data(),
                                          workspace.solution.data()});
  }
}

// What goes over rows is compiled for a single head as well, where that saves time: not for rows so wide that they wait
// for memory.
template <class Rows_, class T, class F>
auto with_margin_space(const Model& model, Workspace<T>& workspace, const F& f) {
  if constexpr (!Rows_::Row::wide)
    if (model.n_heads == 1) return with_margin_space<T, true>(model, workspace, f);
  return with_margin_space<T, false>(model, workspace, f);
}

template <class Rows_, class T, class F>
auto with_coordinate_space(const Model& model, Workspace<T>& workspace, const F& f) {
  if constexpr (!Rows_::Row::wide)
    if (model.n_heads == 1) return with_coordinate_space<T, true>(model, workspace, f);
  return with_coordinate_space<T, false>(model, workspace, f);
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

// The loops of each kind of rule. Each is in a file of its own, for the compiler's sake.
template <class T>
Outcome follow_margins(const Task& task, const Model& model);
template <class T>
Outcome descend(const Task& task, const Model& model);
template <class T>
Outcome ascend(const Task& task, const Model& model);
template <class T>
bool choose_anew(const Model& model, Budget& budget, double least);

}  // namespace sureline::SURELINE_ISA
