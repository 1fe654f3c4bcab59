// Which of the compiled instruction sets runs. The results have the same bits with each.
#pragma once

#include "loops/isa.hpp"
#include "loops/kernels.hpp"

namespace sureline {

SURELINE_PER_ISA(const Kernels& kernels(float); const Kernels& kernels(double);)

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
  // What -march=x86-64-v3 and -v4 may use, as far as it bears on these loops; a machine with these has the rest.
  __builtin_cpu_init();
  const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl");
  static const InstructionSet sets[kInstructionSets] = {
      {"baseline", &baseline::kernels(0.0f), &baseline::kernels(0.0), true},
      {"avx2", &avx2::kernels(0.0f), &avx2::kernels(0.0), has_avx2},
      {"avx512", &avx512::kernels(0.0f), &avx512::kernels(0.0), has_avx512},
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
