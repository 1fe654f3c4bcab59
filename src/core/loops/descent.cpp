// The loops of the coordinate rules, for one instruction set and one scalar type, both given by the build.
#include "loops/descent.hpp"

#include <type_traits>

#include "loops/learn.hpp"

namespace sureline::SURELINE_ISA {

template <class T>
Outcome descend(const Task& task, const Model& model) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  return with_rows<T>(task.rows, [&](const auto& rows) {
    return with_coordinate_space<std::decay_t<decltype(rows)>>(model, workspace, [&](const auto& space) {
      return Descent(task, space, rows, workspace.scores.data(), workspace.rounds.data()).run();
    });
  });
}

template <class T>
bool choose_anew(const Model& model, Budget& budget, double least) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return false;
  with_coordinate_space<T, false>(model, workspace, [&](const auto& space) {
    if constexpr (std::decay_t<decltype(space)>::kSized) choose_anew(space, budget, least);
  });
  return true;
}

template Outcome descend<SURELINE_SCALAR>(const Task&, const Model&);
template bool choose_anew<SURELINE_SCALAR>(const Model&, Budget&, double);

}  // namespace sureline::SURELINE_ISA
