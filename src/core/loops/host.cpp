// Run by the build: says which instruction set the loops are to be compiled for on this machine.
#include <cstdio>

#include "instruction_sets.hpp"

int main() { std::fputs(sureline::has_avx512() ? "avx512" : sureline::has_avx2() ? "avx2" : "baseline", stdout); }
