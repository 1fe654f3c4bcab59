// From the run-time description of rows and model to the types of the loops.
#pragma once

#include "loops/descent.hpp"
#include "loops/margin.hpp"

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
            (scratch.reserve(Full<T, true>::scratch_size(model.n_slots)) && solution.reserve(2 * model.n_slots)));
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
      return f(Full<T, one_head>{w, model.n_slots, model.n_heads, model.intercept, static_cast<T*>(model.factors),
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

// The spaces whose weights a View shows.
template <class T, class F>
auto with_viewed_space(const Model& model, Workspace<T>& workspace, const F& f) {
  return is_dual(model.shape) ? with_dual_space<T>(model, f) : with_coordinate_space(model, workspace, f);
}

template <class T>
Outcome ascend(const Task& task, const Model& model);  // a dual rule: in a file of its own, for the compiler's sake

template <class T>
Outcome learn(const Task& task, const Model& model) {
  if (task.dual_rule) return ascend<T>(task, model);
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  double* scores = workspace.scores.data();
  return with_rows<T>(task.rows, [&](const auto& rows) {
    if (task.rule)
      return with_margin_space(model, workspace,
                               [&](const auto& space) { return MarginLearner(task, space, rows, scores).run(); });
    return with_coordinate_space(model, workspace, [&](const auto& space) {
      return Descent(task, space, rows, scores, workspace.rounds.data()).run();
    });
  });
}

template <class Rows_, class Judge>
Outcome each_row(const Rows_& rows, int64_t n_columns, int64_t n_heads, double* out, const Judge& judge) {
  for (int64_t row = 0; row < rows.n_rows; ++row) {
    const auto x = rows[row];
    Refusal refusal = x.inspect(n_columns);
    if (refusal == Refusal::none) {
      judge(x, out);
      for (int64_t head = 0; head < n_heads; ++head)
        if (!finite(out[head])) refusal = finite(largest_size(x.values, x.n)) ? Refusal::score : Refusal::contents;
    }
    if (refusal != Refusal::none) return {refusal, row};
    out += n_heads;
  }
  return {};
}

template <class T>
Outcome score(const Rows& described, const Model& model, const View& view, double* out) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  const int64_t n_columns = described.n_columns, n_heads = model.n_heads;
  return with_rows<T>(described, [&](const auto& rows) {
    if (!view.rounds)
      return with_margin_space(model, workspace, [&](const auto& space) {
        return each_row(rows, n_columns, n_heads, out, [&](const auto& x, double* f) { space.scores(x, f); });
      });
    return with_viewed_space(model, workspace, [&](const auto& space) {
      return each_row(rows, n_columns, n_heads, out, [&](const auto& x, double* f) { space.scores(x, view, f); });
    });
  });
}

template <class T>
Outcome variance(const Rows& described, const Model& model, const View&, double* out) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  const int64_t n_columns = described.n_columns, n_heads = model.n_heads;
  return with_rows<T>(described, [&](const auto& rows) {
    return with_margin_space(model, workspace, [&](const auto& space) {
      return each_row(rows, n_columns, n_heads, out, [&](const auto& x, double* v) {
        for (int64_t head = 0; head < n_heads; ++head) v[head] = space.variance(x, head, 0);
      });
    });
  });
}

template <class T>
int64_t nonzero(const Model& model, const View& view, int64_t first, int64_t* slots, int32_t* heads, double* values) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return -1;
  int64_t n = 0;
  const auto take = [&](int64_t slot, int64_t head, double w) {
    if (w == 0 || slot < first) return;
    if (slots) slots[n] = slot, values[n] = w;
    if (heads) heads[n] = int32_t(head);
    ++n;
  };
  if (!view.rounds)
    with_margin_space(model, workspace, [&](const auto& space) {
      each_touched_slot(space, [&](int64_t slot) {
        for (int64_t head = 0; head < space.n_heads; ++head) take(slot, head, space.weight(space.at(slot - 1, head)));
      });
    });
  else
    with_viewed_space(model, workspace, [&](const auto& space) {
      if constexpr (std::decay_t<decltype(space)>::kLocal) {
        each_touched_slot(space, [&](int64_t slot) {
          for (int64_t head = 0; head < space.n_heads; ++head)
            take(slot, head, space.weight(slot - 1, head, view.of(head)));
        });
      } else {
        for (int64_t head = 0; head < space.n_heads; ++head) {
          space.solve(head);
          for (int64_t slot = 0; slot < space.n_slots; ++slot)
            take(slot, head, space.weight_after_solve(slot - 1, view.of(head)));
        }
      }
    });
  return n;
}

template <class T>
bool choose_anew(const Model& model, Budget& budget, double least) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return false;
  with_coordinate_space(model, workspace, [&](const auto& space) {
    if constexpr (std::decay_t<decltype(space)>::kSized) choose_anew(space, budget, least);
  });
  return true;
}

}  // namespace sureline::SURELINE_ISA
