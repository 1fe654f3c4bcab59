// What is compiled once for each instruction set is declared for all of them: in a namespace each.
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
