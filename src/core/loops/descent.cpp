// The loops of the coordinate rules for one instruction set; the build chooses dense or sparse rows.
#include "loops/descent.hpp"

#include "loops/learn.hpp"

namespace sureline::SURELINE_ISA {

template <class T, bool dense>
Outcome descend(const Task& task, const Model& model) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  return with_loop_rows<T, dense>(task.rows, [&](const auto& rows) {
    return with_coordinate_space(model, workspace, [&](const auto& space) {
      return Descent(task, space, rows, workspace.scores.data(), workspace.rounds.data()).run();
    });
  });
}

template Outcome descend<float, SURELINE_DENSE>(const Task&, const Model&);
template Outcome descend<double, SURELINE_DENSE>(const Task&, const Model&);

}  // namespace sureline::SURELINE_ISA
