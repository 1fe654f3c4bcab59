// What no library has of BCW on a GPU: rows made ready, and the steps of a block of rows one after the other.
//
// A block has ROWS rows of the whitened matrix Z, with their inner products G = Z Z'. Its scores are s = Z w. Each row
// in turn takes its step a_i from its score and adds a_i G_ij to the scores of the rows after it; then w += Z'a.
// Nothing is approximated. All numbers that are added up are added in a fixed order.

#define ROWS 256
#define LANES 32
#define WARPS (ROWS / LANES)
#define ALL 0xffffffffu

typedef long long Int;

// Rows as they are multiplied: divided by the scales of the columns or by the lengths of the rows, in the precision
// that they come in, where a scale of 0 is that of the value itself; then times the roots of their prices. The column
// of the intercept is 1, if it is not negative, and others up to the width ld are 0.
template <class In, class Out>
__device__ void prepare(const In* x, Int stride, Int n, Int d, const double* scales, const double* lengths,
                        const double* roots, Int intercept, Out* out, Int ld) {
  const Int i = (Int)blockIdx.x * blockDim.y + threadIdx.y;  // a warp has a row
  if (i >= n) return;
  for (Int j = threadIdx.x; j < ld; j += blockDim.x) {
    double value = 0;
    if (j < d) {
      value = (double)x[i * stride + j];
      if (scales && value != 0) value = (double)(In)(value / (scales[j] > 0 ? scales[j] : fabs(value)));
      if (lengths) value = (double)(In)(value / lengths[i]);
    } else if (j == intercept) {
      value = 1;
    }
    if (roots) value *= roots[i];
    out[i * ld + j] = (Out)value;
  }
}

// Sums of the sizes of the values of each column, and how many are not zero, of every gridDim.y-th row.
template <class In>
__device__ void measure(const In* x, Int stride, Int n, Int d, double* sums, double* counts) {
  const Int j = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= d) return;
  double sum = 0, count = 0;
  for (Int i = blockIdx.y; i < n; i += gridDim.y) {
    const double value = (double)x[i * stride + j];
    sum += fabs(value);
    count += value != 0;
  }
  sums[blockIdx.y * d + j] = sum;
  counts[blockIdx.y * d + j] = count;
}

// Adds up values[k] over all lanes, and gives the sum to lane k, in values[0]. In each round half of them change sides.
template <int half>
__device__ void fold(double* values, int lane) {
  const bool upper = lane & half;
#pragma unroll
  for (int k = 0; k < half; ++k) {
    const double given = upper ? values[k] : values[k + half], kept = upper ? values[k + half] : values[k];
    values[k] = kept + __shfl_xor_sync(ALL, given, half);
  }
  if constexpr (half > 1) fold<half / 2>(values, lane);
}

// Lets a block of threads wait until others have counted so far, and see what they wrote before.
__device__ void wait_for(unsigned long long* count, Int wanted) {
  if (threadIdx.x == 0) {
    while (*(volatile unsigned long long*)count < (unsigned long long)wanted) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
}

// Counts one more, for a block of threads, when all that it wrote can be seen by others.
__device__ void tell(unsigned long long* count) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(count, 1ull);
}

// The steps of the rows of a block, one after the other, for one head.
//
// A thread has a row, and a warp 32 of them with their part of G in registers: there, each row tells the others its
// step by a shuffle. Later warps take the steps of a warp in when it has all of them. Threads without a row only wait.
struct Turns {
  const double* G;
  bool there;
  double y, inverse, most, v;
  double takes[LANES];  // what alpha of a row of this warp takes off the next step of this one, if that comes later

  __device__ Turns(const double* G, bool there, bool yes, double C, Int squared) : G(G), there(there) {
    const int row = threadIdx.x, lane = row % LANES;
    y = yes ? 1.0 : -1.0;
    v = there ? G[(Int)row * ROWS + row] : 0.0;
    inverse = !(v > 0) ? 0.0 : fmin(1 / (squared ? v + 0.5 / C : v), 1e300);  // not infinity, which times 0 is none
    most = squared ? __longlong_as_double(0x7ff0000000000000LL) : C;
    const unsigned positive = __ballot_sync(ALL, yes);
    const double mine = y * inverse;
#pragma unroll
    for (int i = 0; i < LANES; ++i) {
      const double value = there && lane > i ? mine * G[(Int)(row - lane + i) * ROWS + row] : 0.0;
      takes[i] = positive >> i & 1 ? value : -value;
    }
  }

  // alpha y of the row whose score is s before the block. s becomes the score when its turn came.
  __device__ double take(double& s) {
    __shared__ double taken[ROWS];
    const int row = threadIdx.x, warp = row / LANES;
    double alpha = 0, given = 0;
    for (int turn = 0; turn < WARPS; ++turn) {
      double products[LANES];
      if (there && warp > turn) {
#pragma unroll
        for (int i = 0; i < LANES; ++i) products[i] = G[(Int)(turn * LANES + i) * ROWS + row];
      } else if (warp == turn) {
        const double begin = (1 - y * s) * inverse;
        double t = begin;
#pragma unroll
        for (int i = 0; i < LANES; ++i) {
          const double own = t > 0 ? (t < most ? t : most) : 0.0;
          t -= __shfl_sync(ALL, own, i) * takes[i];
        }
        alpha = t > 0 ? (t < most ? t : most) : 0.0;
        given = begin - t;
        taken[row] = y * alpha;
      }
      __syncthreads();
      if (there && warp > turn) {
        double sums[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < LANES; ++i) sums[i % 4] += taken[turn * LANES + i] * products[i];
        s += (sums[0] + sums[1]) + (sums[2] + sums[3]);
      }
    }
    if (inverse > 0) s += y * given / inverse;
    return y * alpha;
  }
};

extern "C" {

#define PREPARE(name, In, Out)                                                                             \
  __global__ void name(const In* x, Int stride, Int n, Int d, const double* scales, const double* lengths, \
                       const double* roots, Int intercept, Out* out, Int ld) {                             \
    prepare(x, stride, n, d, scales, lengths, roots, intercept, out, ld);                                  \
  }
PREPARE(prepare_float32_float64, float, double)
PREPARE(prepare_float64_float64, double, double)
PREPARE(prepare_float32_float32, float, float)
PREPARE(prepare_float64_float32, double, float)

#define MEASURE(name, In)                                                                     \
  __global__ void name(const In* x, Int stride, Int n, Int d, double* sums, double* counts) { \
    measure(x, stride, n, d, sums, counts);                                                   \
  }
MEASURE(measure_float32, float)
MEASURE(measure_float64, double)

// The pass over the n rows of a chunk for one head, in one launch. The blocks of threads talk through `counts`: how
// many of them have made their scores of a block of rows, and how many blocks of rows have taken their steps.
//
// All but the last have columns of Z and of w, a slice of LANES at a time. They add to w what the steps before have
// changed, w += Z'a, and make the scores of the next rows: partial[slice][row] is what the columns of a slice add to a
// score, so that the sum is the same for any number of blocks of threads. The last one takes the steps.
//
// A block of threads waits for others that run beside it. There are so few of them that all have room on a device.
__global__ void __launch_bounds__(ROWS)
    learn_chunk(const double* __restrict__ Z, Int ld, Int n, const double* __restrict__ G,
                const int* __restrict__ labels, const double* __restrict__ C, Int squared, double* w, double* partial,
                unsigned long long* counts, double* f, double* a, double* squares) {
  const Int n_slices = ld / LANES, n_blocks = (n + ROWS - 1) / ROWS, helpers = gridDim.x - 1;
  const int row = threadIdx.x, lane = row % LANES, first = row - lane;
  if (blockIdx.x < helpers) {
    __shared__ double sums[WARPS][LANES], weights[LANES], steps[ROWS];
    for (Int k = 0; k <= n_blocks; ++k) {
      const Int before = (k - 1) * ROWS, next = k * ROWS;
      for (Int slice = blockIdx.x; slice < n_slices; slice += helpers) {
        const Int column = slice * LANES + lane;
        double values[LANES];  // of the next block, on their way before they are needed
#pragma unroll
        for (int i = 0; i < LANES; ++i) values[i] = next + first + i < n ? Z[(next + first + i) * ld + column] : 0.0;
        double sum = 0;
        if (k > 0) {
          if (slice == blockIdx.x) {
            wait_for(counts + 1, k);
            steps[row] = before + row < n ? __ldcg(a + before + row) : 0.0;
          }
          __syncwarp();
#pragma unroll 16
          for (int i = 0; i < LANES; ++i)
            if (before + first + i < n) sum += steps[first + i] * Z[(before + first + i) * ld + column];
        }
        sums[first / LANES][lane] = sum;
        __syncthreads();
        if (first == 0) {
          double total = w[column];
          for (int i = 0; i < WARPS; ++i) total += sums[i][lane];
          w[column] = total;
          weights[lane] = total;
        }
        __syncthreads();
        const double weight = weights[lane];
#pragma unroll
        for (int i = 0; i < LANES; ++i) values[i] *= weight;
        fold<LANES / 2>(values, lane);
        if (k < n_blocks) partial[slice * ROWS + row] = values[0];
      }
      tell(counts);
    }
    return;
  }
  for (Int k = 0; k < n_blocks; ++k) {
    const Int at = k * ROWS + row;
    const bool there = at < n;
    Turns turns(G + k * ROWS * ROWS, there, there && labels[at] == 1, there ? C[at] : 1.0, squared);
    wait_for(counts, (k + 1) * helpers);
    double s = 0;
#pragma unroll 16
    for (Int i = 0; i < n_slices; ++i) s += __ldcg(partial + i * ROWS + row);
    const double step = turns.take(s);
    if (there) a[at] = step;
    tell(counts + 1);
    if (there) f[at] = s, squares[at] = turns.v;
  }
}

// The steps of the n rows of a block, for as many binary problems as there are blocks of threads. The problem h says
// yes to the label h, or to 1 if it is alone. f has the scores from before the block.
__global__ void __launch_bounds__(ROWS)
    steps(const double* __restrict__ G, const int* __restrict__ labels, const double* __restrict__ C, Int squared,
          Int first, Int n, Int n_rows, double* f, double* a, double* squares) {
  const Int head = blockIdx.x, positive = gridDim.x == 1 ? 1 : head, at = first + threadIdx.x;
  const bool there = threadIdx.x < n;
  Turns turns(G, there, there && labels[at] == positive, there ? C[at] : 1.0, squared);
  double s = there ? f[head * n_rows + at] : 0.0;
  const double step = turns.take(s);
  if (there) {
    f[head * n_rows + at] = s;
    a[head * n_rows + at] = step;
    if (head == 0) squares[at] = turns.v;
  }
}

// The same where a row moves the head of its label and that of the best rival. All scores of a row are needed for its
// step: every warp finds the rival by itself, and every thread moves the scores of its own row. f has the scores from
// before the block, and a has zeros.
__global__ void __launch_bounds__(ROWS)
    rival_steps(const double* __restrict__ G, const int* __restrict__ labels, const double* __restrict__ C, Int squared,
                Int first, Int n, Int n_rows, Int n_heads, double* f, double* a, double* squares) {
  const int row = threadIdx.x, lane = row % LANES;
  if (row < n) squares[first + row] = G[(Int)row * ROWS + row];
  for (Int i = 0; i < n; ++i) {
    const double* scores = f + first + i;
    const Int label = labels[first + i];
    double top = 0;
    Int best = n_heads;  // none yet
    for (Int head = lane; head < n_heads; head += LANES)
      if (head != label && (best == n_heads || scores[head * n_rows] > top)) top = scores[head * n_rows], best = head;
#pragma unroll
    for (int half = LANES / 2; half > 0; half /= 2) {
      const double other_top = __shfl_xor_sync(ALL, top, half);
      const Int other = __shfl_xor_sync(ALL, best, half);
      if (other < n_heads && (best == n_heads || other_top > top || (other_top == top && other < best)))
        top = other_top, best = other;
    }
    const double v = 2 * G[i * ROWS + i], xi = 1 - (scores[label * n_rows] - top), c = C[first + i];
    const double alpha = !(xi > 0 && v > 0) ? 0.0 : squared ? xi / (v + 0.5 / c) : fmin(xi / v, c);
    if (row < n && row > i && alpha > 0) {
      const double moved = alpha * G[i * ROWS + row];
      f[label * n_rows + first + row] += moved;
      f[best * n_rows + first + row] -= moved;
    } else if (row == i) {
      a[label * n_rows + first + i] = alpha;
      a[best * n_rows + first + i] = -alpha;
    }
    __syncthreads();
  }
}

}  // extern "C"
