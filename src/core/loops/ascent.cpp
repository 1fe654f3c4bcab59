// Online dual coordinate ascent for one instruction set; the build chooses dense or sparse rows.
#include "loops/ascent.hpp"

#include "loops/learn.hpp"
#include "loops/simplex.hpp"

namespace sureline::SURELINE_ISA {

template <class T, bool dense>
Outcome ascend(const Task& task, const Model& model) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  double* scores = workspace.scores.data();
  return with_loop_rows<T, dense>(task.rows, [&](const auto& rows) {
    return with_dual_space<T>(model, [&](const auto& space) {
      if constexpr (requires { std::decay_t<decltype(space)>::Kind::kSmoothed; })
        return OnlineAscent(task, space, rows, scores, workspace.rounds.data()).run();
      else
        return SimplexAscent(task, space, rows, scores).run();
    });
  });
}

template Outcome ascend<float, SURELINE_DENSE>(const Task&, const Model&);
template Outcome ascend<double, SURELINE_DENSE>(const Task&, const Model&);

}  // namespace sureline::SURELINE_ISA
