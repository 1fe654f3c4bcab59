// The build defines its instruction sets: SURELINE_BASELINE, SURELINE_AVX2 and SURELINE_AVX512 are 1 or 0.
#include "loops/dispatch.hpp"

#include "batch/narrow.hpp"
#include "batch/whitened.hpp"
#include "loops/instruction_sets.hpp"
#include "loops/isa.hpp"
#include "scaling/scales.hpp"

namespace sureline {

SURELINE_PER_ISA(const Kernels& kernels(float); const Kernels& kernels(double);)

namespace {

#define SURELINE_SET(isa, available)                                                                              \
  InstructionSet {                                                                                                \
    #isa, available, &isa::kernels(0.0f), &isa::kernels(0.0), isa::normalize, isa::learn_whitened, isa::add_gram, \
        isa::whiten                                                                                               \
  }

}  // namespace

const InstructionSet* choose_instruction_set(const char* wanted, std::string& why_not) {
  // Slowest first.
  static const InstructionSet sets[] = {
#if SURELINE_BASELINE
      SURELINE_SET(baseline, true),
#endif
#if SURELINE_AVX2
      SURELINE_SET(avx2, has_avx2()),
#endif
#if SURELINE_AVX512
      SURELINE_SET(avx512, has_avx512()),
#endif
  };
  const bool any = !wanted || !*wanted;
  const InstructionSet* chosen = nullptr;
  std::string names;
  for (const InstructionSet& set : sets) {
    if (set.available && (any || std::string(wanted) == set.name)) chosen = &set;
    names += (names.empty() ? "" : ", ") + std::string(set.name);
  }
  if (!chosen && any)
    why_not = "sureline was built from source on another machine, for " + names +
              ", which this machine does not have: build it again here.";
  else if (!chosen)
    why_not = "SURELINE_INSTRUCTION_SET is '" + std::string(wanted) +
              "', which this machine or this build does not have; this build has " + names + ".";
  return chosen;
}

}  // namespace sureline
