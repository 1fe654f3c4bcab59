/* Online dual coordinate ascent in long double, every weight written in every round as the equations have it: what the
 * compiled learner is compared with after ten million rounds. Hinge loss; regulariser l2 (delta = 0) or elastic net.
 *
 * cc -O2 -shared -fPIC long_ascent.c -o long_ascent.so -lm */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef long double Real;

static Real soft(Real w, Real delta) { return w > delta ? w - delta : w < -delta ? w + delta : 0; }

static Real margin(const Real *w, const double *x, Real y, Real step, Real delta, int d) {
  Real m = 0;
  for (int j = 0; j < d; ++j) m += y * x[j] * soft(w[j] + step * y * x[j], delta);
  return m;
}

/* beta = 1: the infinite window. length > 0: the sliding window. */
void ascend(const double *X, const int8_t *y, int64_t n, int d, int64_t rounds, double rho, double beta, int64_t length,
            double delta, double *out) {
  Real *w = calloc((size_t)d, sizeof *w), *lambda = calloc((size_t)(length + 1), sizeof *lambda);
  Real power = 1; /* beta^N */
  for (int64_t N = 1; N <= rounds; ++N) {
    const double *x = X + (N - 1) % n * d;
    const Real sign = y[(N - 1) % n];
    Real alpha, decay;
    if (length > 0) {
      const int64_t L = N < length ? N : length;
      alpha = 1 / ((Real)rho * L);
      decay = N <= length ? (Real)(N - 1) / N : 1;
    } else if (beta < 1) {
      const Real before = power;
      power *= beta;
      alpha = (1 - (Real)beta) / (rho * (1 - power));
      decay = beta * (1 - before) / (1 - power);
    } else {
      alpha = 1 / ((Real)rho * N);
      decay = (Real)(N - 1) / N;
    }
    for (int j = 0; j < d; ++j) w[j] *= decay;
    if (length > 0 && N > length) {
      const double *old = X + (N - 1 - length) % n * d;
      for (int j = 0; j < d; ++j) w[j] -= alpha * lambda[N % length] * y[(N - 1 - length) % n] * old[j];
    }
    Real low = 0, high = 1;
    if (margin(w, x, sign, 0, delta, d) >= 1)
      high = 0;
    else if (margin(w, x, sign, alpha, delta, d) <= 1)
      low = 1;
    else if (delta == 0) {
      const Real m = margin(w, x, sign, 0, 0, d), slope = margin(w, x, sign, alpha, 0, d) - m;
      low = high = (1 - m) / slope;
    } else
      for (int k = 0; k < 66; ++k) {
        const Real middle = (low + high) / 2;
        if (margin(w, x, sign, alpha * middle, delta, d) < 1)
          low = middle;
        else
          high = middle;
      }
    const Real b = low < high ? (high == 0 ? 0 : (low + high) / 2) : low;
    if (length > 0) lambda[N % length] = high == 0 ? 0 : b;
    if (high != 0)
      for (int j = 0; j < d; ++j) w[j] += alpha * b * sign * x[j];
  }
  for (int j = 0; j < d; ++j) out[j] = (double)soft(w[j], delta);
  free(w);
  free(lambda);
}
