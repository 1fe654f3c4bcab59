// The loops of the margin rules, for one instruction set and one scalar type, both given by the build.
#include "loops/margin.hpp"

#include <type_traits>

#include "loops/learn.hpp"

namespace sureline::SURELINE_ISA {

template <class T>
Outcome follow_margins(const Task& task, const Model& model) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  return with_rows<T>(task.rows, [&](const auto& rows) {
    return with_margin_space<std::decay_t<decltype(rows)>>(model, workspace, [&](const auto& space) {
      return MarginLearner(task, space, rows, workspace.scores.data()).run();
    });
  });
}

template Outcome follow_margins<SURELINE_SCALAR>(const Task&, const Model&);

}  // namespace sureline::SURELINE_ISA
