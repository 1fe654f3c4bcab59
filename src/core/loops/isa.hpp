// Declarations of code that is compiled once per instruction set, each in its own namespace.
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
