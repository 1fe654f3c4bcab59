// Online dual coordinate ascent for one instruction set and one scalar type, both given by the build.
#include "loops/ascent.hpp"

#include "loops/learn.hpp"
#include "loops/simplex.hpp"

namespace sureline::SURELINE_ISA {

template <class T>
Outcome ascend(const Task& task, const Model& model) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  double* scores = workspace.scores.data();
  return with_rows<T>(task.rows, [&](const auto& rows) {
    return with_dual_space<T>(model, [&](const auto& space) {
      if constexpr (requires { std::decay_t<decltype(space)>::Kind::kSmoothed; })
        return OnlineAscent(task, space, rows, scores, workspace.rounds.data()).run();
      else
        return SimplexAscent(task, space, rows, scores).run();
    });
  });
}

template Outcome ascend<SURELINE_SCALAR>(const Task&, const Model&);

}  // namespace sureline::SURELINE_ISA
