// The table of all loops of one instruction set, and passes over a model without rows.
#include <type_traits>

#include "loops/descent.hpp"
#include "loops/learn.hpp"

namespace sureline::SURELINE_ISA {

namespace {

template <class T, bool dense>
Outcome learn_from(const Task& task, const Model& model) {
  if (task.dual_rule) return ascend<T, dense>(task, model);
  return task.rule ? follow_margins<T, dense>(task, model) : descend<T, dense>(task, model);
}

template <class T>
Outcome learn(const Task& task, const Model& model) {
  return task.rows.layout == Rows::Layout::dense ? learn_from<T, true>(task, model) : learn_from<T, false>(task, model);
}

template <class T>
Outcome score_rows(const Rows& rows, const Model& model, const View& view, double* out) {
  return rows.layout == Rows::Layout::dense ? score<T, true>(rows, model, view, out)
                                            : score<T, false>(rows, model, view, out);
}

template <class T>
Outcome variance_of_rows(const Rows& rows, const Model& model, const View& view, double* out) {
  return rows.layout == Rows::Layout::dense ? variance<T, true>(rows, model, view, out)
                                            : variance<T, false>(rows, model, view, out);
}

template <class T>
bool choose_threshold(const Model& model, Budget& budget, double least) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return false;
  with_coordinate_space<T, false>(model, workspace, [&](const auto& space) {
    if constexpr (std::decay_t<decltype(space)>::kSized) choose_anew(space, budget, least);
  });
  return true;
}

template <class T>
int64_t nonzero(const Model& model, const View& view, int64_t first, const NonzeroRoom& room) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return -1;
  int64_t n = 0;
  const auto take = [&](int64_t slot, int64_t head, double w) {
    if (w == 0 || slot < first) return;
    if (n < room.size) {
      room.slots[n] = slot, room.values[n] = w;
      if (room.heads) room.heads[n] = int32_t(head);
    }
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

template <class T>
constexpr Kernels table = {learn<T>, score_rows<T>, variance_of_rows<T>, nonzero<T>, choose_threshold<T>};

}  // namespace

const Kernels& kernels(float) { return table<float>; }
const Kernels& kernels(double) { return table<double>; }

}  // namespace sureline::SURELINE_ISA
