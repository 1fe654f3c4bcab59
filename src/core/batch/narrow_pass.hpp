// Whitening and learning of narrow rows together. Learning is sequential and takes about as long as whitening. So other
// threads whiten a few blocks ahead, and a thread that would have to wait whitens too.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "batch/narrow.hpp"
#include "batch/whitened.hpp"

namespace sureline {

class NarrowPass {
 public:
  using Whiten = void (*)(const NarrowRows&, const double* W, double* out, int64_t stride);
  using Learn = int64_t (*)(const WhitenedPass&);

  // `pass` has the labels and C of all rows, and w with `stride` numbers a head.
  NarrowPass(const NarrowRows& rows, const double* W, const WhitenedPass& pass, int64_t stride, Whiten whiten,
             Learn learn_rows)
      : rows_(rows), W_(W), pass_(pass), stride_(stride), whiten_(whiten), learn_rows_(learn_rows) {}

  // Returns the first row that is not finite, or -1.
  int64_t run(int n_threads) {
    std::vector<std::thread> helpers;
    for (int k = 1; k < n_threads && k < n_blocks_; ++k) helpers.emplace_back([this] { help(); });
    const int64_t refused = learn();
    done_.store(n_blocks_ + kAhead, std::memory_order_release);  // releases the threads that wait for room
    claimed_.store(n_blocks_);
    for (std::thread& helper : helpers) helper.join();
    return refused;
  }

 private:
  static constexpr int64_t kRows = 256, kAhead = 8;

  int64_t learn() {
    for (int64_t block = 0; block < n_blocks_; ++block) {
      while (ready_[block % kAhead].load(std::memory_order_acquire) != block)
        if (!whiten_next()) std::this_thread::yield();
      WhitenedPass pass = pass_;
      const int64_t first = block * kRows;
      pass.rows = at(block), pass.n_slots = stride_, pass.n_rows = size(block);
      pass.labels += first, pass.C += first, pass.squares += first, pass.moves += first * pass.n_heads;
      const int64_t refused = learn_rows_(pass);
      if (refused >= 0) return first + refused;
      done_.store(block + 1, std::memory_order_release);
    }
    return -1;
  }

  void help() {
    while (claimed_.load(std::memory_order_relaxed) < n_blocks_)
      if (!whiten_next()) std::this_thread::yield();
  }

  // False if there is no room for another block, or no block is left.
  bool whiten_next() {
    int64_t block = claimed_.load();
    do {
      if (block >= n_blocks_ || block >= done_.load(std::memory_order_acquire) + kAhead) return false;
    } while (!claimed_.compare_exchange_weak(block, block + 1));
    NarrowRows part = rows_;
    part.values = static_cast<const char*>(rows_.values) + block * kRows * rows_.n * (rows_.single ? 4 : 8);
    part.n_rows = size(block);
    whiten_(part, W_, at(block), stride_);
    ready_[block % kAhead].store(block, std::memory_order_release);
    return true;
  }

  int64_t size(int64_t block) const { return std::min(kRows, rows_.n_rows - block * kRows); }
  double* at(int64_t block) { return memory_.data() + (block % kAhead) * kRows * stride_; }

  const NarrowRows rows_;
  const double* W_;
  const WhitenedPass pass_;
  const int64_t stride_;
  const Whiten whiten_;
  const Learn learn_rows_;
  const int64_t n_blocks_ = (rows_.n_rows + kRows - 1) / kRows;
  std::vector<double> memory_ = std::vector<double>(size_t(kAhead * kRows * stride_));
  std::vector<std::atomic<int64_t>> ready_ = make_ready();  // the number of the block in each place
  std::atomic<int64_t> claimed_{0}, done_{0};

  static std::vector<std::atomic<int64_t>> make_ready() {
    std::vector<std::atomic<int64_t>> ready(kAhead);
    for (auto& block : ready) block.store(-1);
    return ready;
  }
};

}  // namespace sureline
