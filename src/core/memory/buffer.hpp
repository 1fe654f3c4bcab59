// An array that grows in place if the allocator can, which moves pages of large ones.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace sureline::SURELINE_ISA {

// Of numbers and plain structs, which are not initialised. Not std::vector, whose code would be shared with translation
// units for other instruction sets.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }
  // Room for n more. False if memory is short.
  bool reserve(int64_t n) {  // room for n more
    return size_ + n <= capacity_ || allocate(2 * (size_ + n));
  }
  bool resize(int64_t n) {  // room for n in all, and no more
    if (!allocate(n > 0 ? n : 1)) return false;
    size_ = n;
    return true;
  }
  void push(T value) { data_[size_++] = value; }
  T pop() { return data_[--size_]; }
  void clear() { size_ = 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  int64_t size() const { return size_; }

 private:
  bool allocate(int64_t capacity) {
    void* data = std::realloc(static_cast<void*>(data_), size_t(capacity) * sizeof(T));
    if (!data) return false;
    data_ = static_cast<T*>(data);
    capacity_ = capacity;
    return true;
  }
  T* data_ = nullptr;
  int64_t size_ = 0, capacity_ = 0;
};

}  // namespace sureline::SURELINE_ISA
