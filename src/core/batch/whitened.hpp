// The sequential part of online-batch confidence-weighted learning, Algorithm 1 of Tan et al., "Learning sparse
// confidence-weighted classifier on very high dimensional data", AAAI 2016.
//
// Given rows x^ = L^-1 x, whitened by a factor of the precision L L' of the whole batch, and w = L' mu:
//
//   for each row: xi = max(0, 1 - y w.x^); if xi > 0:
//     alpha = min(xi / |x^|^2, C) for q = 1, xi / (|x^|^2 + 0.5 / C) for q = 2;  w += alpha y x^
//
// The same with inner products alone, given V = X^ X^' instead of X^: a step changes the scores of later rows by
// f += alpha y V_i.
//
// With a head for each class, the problem of a row is binary over the heads of its class and of the best rival (policy
// rival: |x^|^2 counts twice), or there is one problem per head (one_vs_rest).
#pragma once

#include "loops/isa.hpp"
#include "loops/kernels.hpp"

namespace sureline {

struct WhitenedPass {
  const void* rows = nullptr;  // X^, n_rows x n_slots; or null
  bool single = false;         // float32, else float64
  int64_t n_rows = 0;
  int64_t n_slots = 0;
  const double* V = nullptr;  // or n_rows x n_rows
  const int32_t* labels = nullptr;
  const double* C = nullptr;  // of each row; a row with C = 0 is skipped
  int q = 1;
  double* w = nullptr;      // n_heads x n_slots, with X^
  double* f = nullptr;      // n_heads x n_rows, with V: w.x^ for the w of before
  double* steps = nullptr;  // n_heads x n_rows, with V: alpha y, to be filled in
  int64_t n_heads = 1;
  Policy policy = Policy::binary;
  double* scores = nullptr;   // n_heads, scratch
  Tally* tally = nullptr;     // for each class
  double* moves = nullptr;    // n_rows x n_heads: alpha y of each row, zeros before
  double* squares = nullptr;  // n_rows, to be filled in: |x^|^2
};

// Returns the first row whose score or length is not finite, or -1. One function per instruction set.
SURELINE_PER_ISA(int64_t learn_whitened(const WhitenedPass&);)

}  // namespace sureline
