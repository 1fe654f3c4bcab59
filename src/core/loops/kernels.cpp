// What reads a model, for one instruction set and one scalar type, both given by the build; and the table of all loops.
#include <type_traits>

#include "loops/learn.hpp"

namespace sureline::SURELINE_ISA {

namespace {

template <class T>
Outcome learn(const Task& task, const Model& model) {
  if (task.dual_rule) return ascend<T>(task, model);
  return task.rule ? follow_margins<T>(task, model) : descend<T>(task, model);
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
    using Rows_ = std::decay_t<decltype(rows)>;
    if (!view.rounds)
      return with_margin_space<Rows_>(model, workspace, [&](const auto& space) {
        return each_row(rows, n_columns, n_heads, out, [&](const auto& x, double* f) {
          n_heads == 1 ? void(f[0] = space.score(x, 0)) : space.scores(x, f);
        });
      });
    if (is_dual(model.shape))
      return with_dual_space<T>(model, [&](const auto& space) {
        return each_row(rows, n_columns, n_heads, out, [&](const auto& x, double* f) { space.scores(x, view, f); });
      });
    return with_coordinate_space<Rows_>(model, workspace, [&](const auto& space) {
      return each_row(rows, n_columns, n_heads, out, [&](const auto& x, double* f) {
        n_heads == 1 ? void(f[0] = space.score(x, 0, view.of(0))) : space.scores(x, view, f);
      });
    });
  });
}

template <class T>
Outcome variance(const Rows& described, const Model& model, const View&, double* out) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  const int64_t n_columns = described.n_columns, n_heads = model.n_heads;
  return with_rows<T>(described, [&](const auto& rows) {
    return with_margin_space<std::decay_t<decltype(rows)>>(model, workspace, [&](const auto& space) {
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
  if (!view.rounds) {
    with_margin_space<T, false>(model, workspace, [&](const auto& space) {
      each_touched_slot(space, [&](int64_t slot) {
        for (int64_t head = 0; head < space.n_heads; ++head) take(slot, head, space.weight(space.at(slot - 1, head)));
      });
    });
    return n;
  }
  const auto take_all = [&](const auto& space) {
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
  };
  is_dual(model.shape) ? with_dual_space<T>(model, take_all)
                       : with_coordinate_space<T, false>(model, workspace, take_all);
  return n;
}

}  // namespace

const Kernels& kernels(SURELINE_SCALAR) {
  using T = SURELINE_SCALAR;
  static constexpr Kernels table = {learn<T>, score<T>, variance<T>, nonzero<T>, choose_anew<T>};
  return table;
}

}  // namespace sureline::SURELINE_ISA
