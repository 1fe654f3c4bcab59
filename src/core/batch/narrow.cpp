#include "batch/narrow.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "batch/vectors.hpp"

namespace sureline::SURELINE_ISA {
namespace {

// A tile of the result, kRows x kVectors vectors, stays in registers. For that, loops over a tile are fully unrolled.
#if defined(__AVX512F__)
constexpr int kRows = 8, kVectors = 3;
#elif defined(__AVX__)
constexpr int kRows = 4, kVectors = 3;
#else
constexpr int kRows = 4, kVectors = 2;
#endif
#define SURELINE_UNROLL _Pragma("GCC unroll 16")

constexpr int64_t kPanel = 64;  // rows at a time, to stay in the first-level cache

int64_t whole_vectors(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

void store(double* p, Vector v) { std::memcpy(p, &v, sizeof v); }

// Calls tile(j, number of vectors) for all columns from j on.
template <class Tile>
void each_tile(int64_t j, int64_t n, const Tile& tile) {
  for (; j < n; j += kVectors * kLanes) tile(j, int(std::min<int64_t>(kVectors, (n - j + kLanes - 1) / kLanes)));
}

// G[i .. i + kRows][j .. j + vectors] += the sum over rows of x_i x_j. Reads beyond the end of a row reach the next
// one.
template <int vectors, class T>
void gram_tile(const T* x, int64_t n_rows, int64_t n, int64_t i, int64_t j, double* G, int64_t stride) {
  Vector sum[kRows][vectors] = {};
  for (int64_t row = 0; row < n_rows; ++row, x += n) {
    Vector right[vectors];
    SURELINE_UNROLL for (int v = 0; v < vectors; ++v) right[v] = load(x + j + v * kLanes);
    SURELINE_UNROLL for (int r = 0; r < kRows; ++r) {
      SURELINE_UNROLL for (int v = 0; v < vectors; ++v) sum[r][v] += double(x[i + r]) * right[v];
    }
  }
  SURELINE_UNROLL for (int r = 0; r < kRows; ++r) {
    SURELINE_UNROLL for (int v = 0; v < vectors; ++v) {
      double* at = G + (i + r) * stride + j + v * kLanes;
      store(at, load(at) + sum[r][v]);
    }
  }
}

// The rows from x on. A tile may read past the last one.
template <class T>
void gram_panel(const T* x, int64_t n_rows, int64_t n, double* G, int64_t stride, double* totals) {
  for (int64_t row = 0; row < n_rows; ++row)
    for (int64_t j = 0; j < n; ++j) totals[j] += x[row * n + j];
  for (int64_t i = 0; i < n; i += kRows)
    each_tile(i / kLanes * kLanes, n, [&](int64_t j, int vectors) {
      if (vectors == 1) gram_tile<1>(x, n_rows, n, i, j, G, stride);
      if (vectors == 2) gram_tile<2>(x, n_rows, n, i, j, G, stride);
      if (vectors == 3) gram_tile<kVectors>(x, n_rows, n, i, j, G, stride);
    });
}

template <class T>
void add_gram_of(const NarrowRows& rows, double* G) {
  const T* x = static_cast<const T*>(rows.values);
  const int64_t n = rows.n, width = rows.width(), reach = std::max(kRows, kVectors * kLanes);
  const int64_t stride = whole_vectors(n) + reach, n_last = std::min(kPanel, rows.n_rows);
  std::vector<double> sums(size_t((n + kRows) * stride)), totals(static_cast<size_t>(n));
  const int64_t body = (rows.n_rows - n_last) / kPanel * kPanel;
  for (int64_t first = 0; first < body; first += kPanel)
    gram_panel(x + first * n, kPanel, n, sums.data(), stride, totals.data());
  // The last rows are copied, so that nothing beyond the end of the array is read.
  std::vector<T> last(size_t((rows.n_rows - body) * n + reach));
  std::copy(x + body * n, x + rows.n_rows * n, last.begin());
  gram_panel(last.data(), rows.n_rows - body, n, sums.data(), stride, totals.data());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i; j < n; ++j) G[i * width + j] += sums[size_t(i * stride + j)];
  if (rows.intercept) {
    for (int64_t i = 0; i < n; ++i) G[i * width + n] += totals[size_t(i)];
    G[n * width + n] += double(rows.n_rows);
  }
}

// out[0 .. kRows][j .. j + vectors] = x W + the intercept's row of W, where W_kj is zero for k > j.
template <int vectors, class T>
void whiten_tile(const T* x, int64_t n, int64_t j, const double* W, const double* constant, double* out,
                 int64_t stride) {
  Vector sum[kRows][vectors];
  SURELINE_UNROLL for (int r = 0; r < kRows; ++r) {
    SURELINE_UNROLL for (int v = 0; v < vectors; ++v) sum[r][v] = load(constant + j + v * kLanes);
  }
  const int64_t end = std::min<int64_t>(j + vectors * kLanes, n);
  for (int64_t k = 0; k < end; ++k) {
    Vector right[vectors];
    SURELINE_UNROLL for (int v = 0; v < vectors; ++v) right[v] = load(W + k * stride + j + v * kLanes);
    SURELINE_UNROLL for (int r = 0; r < kRows; ++r) {
      SURELINE_UNROLL for (int v = 0; v < vectors; ++v) sum[r][v] += double(x[r * n + k]) * right[v];
    }
  }
  SURELINE_UNROLL for (int r = 0; r < kRows; ++r) {
    SURELINE_UNROLL for (int v = 0; v < vectors; ++v) store(out + r * stride + j + v * kLanes, sum[r][v]);
  }
}

template <class T>
void whiten_rows(const T* x, int64_t n, const double* W, const double* constant, double* out, int64_t stride) {
  each_tile(0, stride, [&](int64_t j, int vectors) {
    if (vectors == 1) whiten_tile<1>(x, n, j, W, constant, out, stride);
    if (vectors == 2) whiten_tile<2>(x, n, j, W, constant, out, stride);
    if (vectors == 3) whiten_tile<kVectors>(x, n, j, W, constant, out, stride);
  });
}

template <class T>
void whiten_all(const NarrowRows& rows, const double* W, double* out, int64_t stride) {
  const T* x = static_cast<const T*>(rows.values);
  const int64_t n = rows.n, width = rows.width();
  std::vector<double> padded(size_t((width + 1) * stride));
  for (int64_t k = 0; k < width; ++k) std::copy(W + k * width + k, W + (k + 1) * width, padded.data() + k * stride + k);
  const double* constant = padded.data() + n * stride;  // zeros without an intercept
  int64_t row = 0;
  for (; row + kRows <= rows.n_rows; row += kRows)
    whiten_rows(x + row * n, n, padded.data(), constant, out + row * stride, stride);
  if (row < rows.n_rows) {  // fewer than a tile
    const int64_t left = rows.n_rows - row;
    std::vector<T> last(size_t(kRows * n));
    std::copy(x + row * n, x + rows.n_rows * n, last.begin());
    std::vector<double> result(size_t(kRows * stride));
    whiten_rows(last.data(), n, padded.data(), constant, result.data(), stride);
    std::copy_n(result.begin(), left * stride, out + row * stride);
  }
}

}  // namespace
#undef SURELINE_UNROLL

void add_gram(const NarrowRows& rows, double* G) {
  rows.single ? add_gram_of<float>(rows, G) : add_gram_of<double>(rows, G);
}

void whiten(const NarrowRows& rows, const double* W, double* out, int64_t stride) {
  rows.single ? whiten_all<float>(rows, W, out, stride) : whiten_all<double>(rows, W, out, stride);
}

}  // namespace sureline::SURELINE_ISA
