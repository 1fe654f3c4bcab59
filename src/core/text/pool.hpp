// Memory that chunks give back and the next ones take again. Fresh memory costs a page fault every 4 KiB, which takes
// longer than to parse the text that goes there.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace sureline::text {

class Pool {
 public:
  struct Piece {
    void* data = nullptr;
    size_t bytes = 0;
  };

  static Piece take(size_t bytes) {
    if (bytes < kSmallest) return {::operator new(bytes), bytes};
    bytes = (bytes + kSmallest - 1) / kSmallest * kSmallest;  // similar sizes share pieces
    Pool& pool = instance();
    // Nobody waits for memory to be reused: who finds the lock taken goes to the system, also a child that was forked
    // while the lock was held.
    if (const std::unique_lock lock(pool.mutex_, std::try_to_lock); lock) {
      auto best = pool.pieces_.end();
      for (auto piece = pool.pieces_.begin(); piece != pool.pieces_.end(); ++piece)
        if (piece->bytes >= bytes && piece->bytes / 2 <= bytes &&
            (best == pool.pieces_.end() || piece->bytes <= best->bytes))
          best = piece;
      if (best != pool.pieces_.end()) {
        const Piece piece = *best;
        pool.pieces_.erase(best);
        pool.total_ -= piece.bytes;
        return piece;
      }
    }
    return {::operator new(bytes), bytes};
  }

  // Keeps a piece for reuse; above a limit, the oldest are released.
  static void give(Piece piece) noexcept {
    if (piece.bytes >= kSmallest && piece.bytes <= kMost) {
      Pool& pool = instance();
      if (const std::unique_lock lock(pool.mutex_, std::try_to_lock); lock) {
        while (pool.total_ + piece.bytes > kMost || pool.pieces_.size() == pool.pieces_.capacity()) {
          ::operator delete(pool.pieces_.front().data);
          pool.total_ -= pool.pieces_.front().bytes;
          pool.pieces_.erase(pool.pieces_.begin());
        }
        pool.pieces_.push_back(piece);
        pool.total_ += piece.bytes;
        return;
      }
    }
    ::operator delete(piece.data);
  }

 private:
  static constexpr size_t kSmallest = 64 << 10, kMost = 64 << 20;

  Pool() { pieces_.reserve(64); }
  static Pool& instance() {
    static Pool& pool = *new Pool;  // never destroyed: chunks may be, after anything else
    return pool;
  }

  std::mutex mutex_;
  std::vector<Piece> pieces_;
  size_t total_ = 0;
};

}  // namespace sureline::text
