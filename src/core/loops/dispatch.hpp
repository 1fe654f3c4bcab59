// Chooses the instruction set at run time. The results have the same bits with each.
#pragma once

#include <string>

#include "loops/kernels.hpp"

namespace sureline {

struct NarrowRows;    // narrow.hpp
struct Normalizing;   // scales.hpp
struct WhitenedPass;  // whitened.hpp

struct InstructionSet {
  const char* name;
  bool available;  // on this machine
  const Kernels* single;
  const Kernels* twofold;
  Outcome (*normalize)(Normalizing&);
  int64_t (*learn_whitened)(const WhitenedPass&);
  void (*add_gram)(const NarrowRows&, double* G);
  void (*whiten)(const NarrowRows&, const double* W, double* out, int64_t stride);
};

// The widest that this machine has of those in this build, or the one named `wanted`, unless that is null or empty.
// If there is none, null and a sentence on why.
const InstructionSet* choose_instruction_set(const char* wanted, std::string& why_not);

}  // namespace sureline
