// The loops of the margin rules for one instruction set; the build chooses dense or sparse rows.
#include "loops/margin.hpp"

#include "loops/learn.hpp"

namespace sureline::SURELINE_ISA {

template <class T, bool dense>
Outcome follow_margins(const Task& task, const Model& model) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  return with_loop_rows<T, dense>(task.rows, [&](const auto& rows) {
    return with_margin_space(model, workspace, [&](const auto& space) {
      return MarginLearner(task, space, rows, workspace.scores.data()).run();
    });
  });
}

template Outcome follow_margins<float, SURELINE_DENSE>(const Task&, const Model&);
template Outcome follow_margins<double, SURELINE_DENSE>(const Task&, const Model&);

}  // namespace sureline::SURELINE_ISA
