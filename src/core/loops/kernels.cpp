// The loops for one instruction set and one scalar type, both given by the build.
#include "loops/learn.hpp"

namespace sureline::SURELINE_ISA {

extern template Outcome ascend<SURELINE_SCALAR>(const Task&, const Model&);

const Kernels& kernels(SURELINE_SCALAR) {
  using T = SURELINE_SCALAR;
  static constexpr Kernels table = {learn<T>, score<T>, variance<T>, nonzero<T>, choose_anew<T>};
  return table;
}

}  // namespace sureline::SURELINE_ISA
