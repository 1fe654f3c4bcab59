// Declarations of the code that is compiled once per instruction set, in one namespace each.
#pragma once

#define SURELINE_PER_ISA(...) \
  namespace baseline {        \
  __VA_ARGS__                 \
  }                           \
  namespace avx2 {            \
  __VA_ARGS__                 \
  }                           \
  namespace avx512 {          \
  __VA_ARGS__                 \
  }
