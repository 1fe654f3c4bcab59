// Which of the compiled instruction sets runs. The results have the same bits with each.
#pragma once

#include "kernels.hpp"

namespace sureline {

namespace baseline {
const Kernels& kernels(float);
const Kernels& kernels(double);
}  // namespace baseline

#if SURELINE_X86_VARIANTS
namespace avx2 {
const Kernels& kernels(float);
const Kernels& kernels(double);
}  // namespace avx2
namespace avx512 {
const Kernels& kernels(float);
const Kernels& kernels(double);
}  // namespace avx512
#endif

struct InstructionSet {
  const char* name;
  const Kernels* single;
  const Kernels* twofold;
  bool available;  // on this machine
};

inline constexpr int kInstructionSets = 3;

// Slowest first. Entries without code have available = false.
inline const InstructionSet* instruction_sets() {
#if SURELINE_X86_VARIANTS
  __builtin_cpu_init();
  static const InstructionSet sets[kInstructionSets] = {
      {"baseline", &baseline::kernels(0.0f), &baseline::kernels(0.0), true},
      {"avx2", &avx2::kernels(0.0f), &avx2::kernels(0.0), __builtin_cpu_supports("x86-64-v3") != 0},
      {"avx512", &avx512::kernels(0.0f), &avx512::kernels(0.0), __builtin_cpu_supports("x86-64-v4") != 0},
  };
#else
  static const InstructionSet sets[kInstructionSets] = {
      {"baseline", &baseline::kernels(0.0f), &baseline::kernels(0.0), true},
      {"avx2", nullptr, nullptr, false},
      {"avx512", nullptr, nullptr, false},
  };
#endif
  return sets;
}

}  // namespace sureline
