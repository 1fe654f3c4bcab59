// The result of parsing a block of text: rows in compressed form, their labels and weights, and errors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pool.hpp"

namespace sureline::text {

// Room for numbers that are written once, in sequence.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : piece_(std::exchange(other.piece_, {})),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(piece_, other.piece_), std::swap(size_, other.size_), std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Buffer() { Pool::give(piece_); }

  void allocate(int64_t capacity) {
    Pool::give(std::exchange(piece_, {}));
    piece_ = Pool::take(static_cast<size_t>(capacity) * sizeof(T));
    capacity_ = capacity, size_ = 0;
  }
  // Room for at least one more number; not more than `most`, if that suffices.
  void grow(int64_t most = INT64_MAX) {
    Buffer larger;
    larger.allocate(std::max(std::min(2 * capacity_ + 1, most), capacity_ + 1));
    std::copy(data(), data() + size_, larger.data());
    larger.size_ = size_;
    *this = std::move(larger);
  }
  T* data() { return static_cast<T*>(piece_.data); }
  const T* data() const { return static_cast<const T*>(piece_.data); }
  T* end() { return data() + size_; }
  int64_t size() const { return size_; }
  int64_t capacity() const { return capacity_; }
  void push(T value) { data()[size_++] = value; }  // there must be room
  void resize(int64_t size) { size_ = size; }

 private:
  Pool::Piece piece_;
  int64_t size_ = 0, capacity_ = 0;
};

// A line that cannot be read. Line and column count from 1, the line from the beginning of the block, the column in
// bytes.
struct Fault {
  int64_t line, column;
  std::string reason;
};

constexpr int64_t kNoLimit = int64_t{1} << 40;

struct Options {
  int64_t shift = 0;                // is added to every index
  bool sum_duplicates = false;      // else an index that comes twice in a row is a fault
  bool skip_faults = false;         // leave faulty lines out, else stop at the first
  bool first_block = false;         // a byte order mark may come first
  int64_t max_faults_kept = 20;     // all are counted, that many are described
  int64_t max_features = kNoLimit;  // of a row
  int64_t max_name = kNoLimit;      // bytes of a feature's name
};

constexpr int64_t kLargestIndex = 2147483646;  // columns are int32, and there is one slot more than columns

// Scalar is float or double. Numbers are read as double, exactly, and then rounded to Scalar.
template <class Scalar>
struct Chunk {
  Buffer<int32_t> starts;                // n_rows + 1, from 0
  Buffer<int32_t> indices;               // strictly ascending in each row
  Buffer<Scalar> values;                 // finite
  Buffer<int32_t> labels;                // position of the row's label in label_names; -1 if there is none
  std::vector<std::string> label_names;  // as written, each once, in the order of their appearance
  std::vector<double> weights;           // of the rows, or empty if all are 1
  std::vector<std::string> tags;         // of the rows; empty if none has a tag
  int64_t n_columns = 0;                 // the largest index plus one
  int64_t n_lines = 0;                   // lines of the block, including those without a row
  int64_t n_faults = 0;
  std::vector<Fault> faults;
  int64_t n_rows() const { return labels.size(); }
};

}  // namespace sureline::text
