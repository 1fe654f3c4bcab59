// The text of a block, piece by piece: what is read in pieces that stay in the nearer caches need not be fetched from
// memory again to be parsed.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "chunk.hpp"

namespace sureline::text {

class Pieces {
 public:
  virtual ~Pieces() = default;
  // The next piece, which ends with a line or with the block; empty if there is none. It stays until the next call.
  virtual std::string_view next() = 0;
  virtual int64_t size() const = 0;  // bytes of all of them
};

// Text in memory.
class OnePiece final : public Pieces {
 public:
  OnePiece(const char* begin, const char* end) : text_(begin, size_t(end - begin)), size_(end - begin) {}
  std::string_view next() override { return std::exchange(text_, {}); }
  int64_t size() const override { return size_; }

 private:
  std::string_view text_;
  const int64_t size_;
};

// The bytes of a file from start to end. Without `wait` only cached bytes are read.
class FilePieces final : public Pieces {
 public:
  FilePieces(int file, int64_t start, int64_t end, bool wait)
      : file_(file), at_(start), end_(end), size_(end - start), wait_(wait) {}
  std::string_view next() override;
  int64_t size() const override { return size_; }
  bool failed() const { return failed_; }  // to read it all

 private:
  static constexpr int64_t kPiece = 256 << 10;

  bool fill();

  const int file_;
  int64_t at_;
  const int64_t end_, size_;
  const bool wait_;
  bool failed_ = false;
  Buffer<char> buffer_;
  int64_t begin_ = 0;  // of the part not yet returned
};

}  // namespace sureline::text
