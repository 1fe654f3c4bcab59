// CUDA kernels on the host, as they are: every thread of a block is a fiber, and barriers switch between them.
// Blocks run one after the other, or beside each other on threads of the host where they wait for each other.
//
// Compiled with -DKERNELS='"..."', the file of the kernels. All of their arguments are pointers or long long.
#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

struct Dim {
  int x = 1, y = 1;
};
static thread_local Dim threadIdx, blockIdx;
static Dim blockDim, gridDim;

namespace {

constexpr int kWarp = 32, kArguments = 16;
constexpr size_t kStack = 1 << 17;
enum class Waits { for_none, for_warp, for_block, for_nobody };  // the last is done

struct Fiber {
  ucontext_t context;
  Dim index;
  Waits waits = Waits::for_none;
  long long told = 0;
  std::vector<char> stack = std::vector<char>(kStack);
};

thread_local std::vector<Fiber> fibers;
thread_local ucontext_t scheduler;
thread_local int current = 0;
void* kernel = nullptr;
long long arguments[kArguments];

void enter() {
  const long long* a = arguments;
  using Kernel = void (*)(long long, long long, long long, long long, long long, long long, long long, long long,
                          long long, long long, long long, long long, long long, long long, long long, long long);
  reinterpret_cast<Kernel>(kernel)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
                                   a[13], a[14], a[15]);
  fibers[current].waits = Waits::for_nobody;
  swapcontext(&fibers[current].context, &scheduler);
}

void wait(Waits waits) {
  const int self = current;
  fibers[self].waits = waits;
  swapcontext(&fibers[self].context, &scheduler);
}

// Lets those go on that wait at the same barrier, all of them.
bool release(int first, int last, Waits waits) {
  bool any = false;
  for (int k = first; k < last; ++k) {
    if (fibers[k].waits == Waits::for_nobody) continue;
    if (fibers[k].waits != waits) return false;
    any = true;
  }
  for (int k = first; any && k < last; ++k)
    if (fibers[k].waits == waits) fibers[k].waits = Waits::for_none;
  return any;
}

void run_block(int x, int y) {
  blockIdx = {x, y};
  const int n = blockDim.x * blockDim.y;
  fibers.resize(size_t(n));
  for (int k = 0; k < n; ++k) fibers[size_t(k)].index = {k % blockDim.x, k / blockDim.x};
  for (int k = 0; k < n; ++k) {
    Fiber& fiber = fibers[k];
    fiber.waits = Waits::for_none;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data(), fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, enter, 0);
  }
  for (;;) {
    bool ran = false;
    for (int k = 0; k < n; ++k) {
      if (fibers[k].waits != Waits::for_none) continue;
      current = k, threadIdx = fibers[k].index, ran = true;
      swapcontext(&scheduler, &fibers[k].context);
    }
    for (int k = 0; k < n; k += kWarp) ran |= release(k, k + kWarp < n ? k + kWarp : n, Waits::for_warp);
    if (!ran && !release(0, n, Waits::for_block)) break;
  }
  for (int k = 0; k < n; ++k)
    if (fibers[k].waits != Waits::for_nobody) {
      std::fprintf(stderr, "thread %d waits for ever\n", k);
      std::abort();
    }
}

void __syncthreads() { wait(Waits::for_block); }
void __syncwarp() { wait(Waits::for_warp); }
void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __nanosleep(unsigned) { std::this_thread::yield(); }
void atomicAdd(unsigned long long* count, unsigned long long more) {
  __atomic_fetch_add(count, more, __ATOMIC_SEQ_CST);
}
double __ldcg(const double* value) {
  double loaded;
  __atomic_load(value, &loaded, __ATOMIC_SEQ_CST);
  return loaded;
}

template <class T>
T from_lane(T value, int lane) {
  Fiber& self = fibers[current];
  std::memcpy(&self.told, &value, sizeof value);
  const int first = current - current % kWarp;
  wait(Waits::for_warp);
  T other;
  std::memcpy(&other, &fibers[first + lane].told, sizeof other);
  wait(Waits::for_warp);
  return other;
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return from_lane(value, lane);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return from_lane(value, current % kWarp ^ mask);
}
unsigned __ballot_sync(unsigned, bool mine) {
  unsigned all = 0;
  for (int lane = 0; lane < kWarp; ++lane) all |= unsigned(from_lane((long long)mine, lane)) << lane;
  return all;
}
double __longlong_as_double(long long bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

using std::fabs, std::fmax, std::fmin;
#define __global__
#define __device__
#define __shared__ static thread_local
#define __launch_bounds__(n)
#include KERNELS

extern "C" void launch(void* which, int grid_x, int grid_y, int block_x, int block_y, int beside,
                       const long long* given, int n) {
  if (n > kArguments) std::abort();
  kernel = which;
  std::memset(arguments, 0, sizeof arguments);
  std::memcpy(arguments, given, sizeof(long long) * size_t(n));
  gridDim = {grid_x, grid_y}, blockDim = {block_x, block_y};
  std::vector<std::thread> threads;
  for (int y = 0; y < grid_y; ++y)
    for (int x = 0; x < grid_x; ++x)
      if (beside)
        threads.emplace_back(run_block, x, y);
      else
        run_block(x, y);
  for (auto& thread : threads) thread.join();
}
