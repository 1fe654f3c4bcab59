// Arrays that take memory only for touched pages.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "memory/mapping.hpp"
#include "models.hpp"

namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

template <class T>
NewArray<T> zeros(int64_t size) {
  if (size < 1 || size > (int64_t(1) << 60) / int64_t(sizeof(T))) refuse("The size is out of range.");
  const size_t bytes = size_t(size) * sizeof(T);
  void* data = map_zeros(bytes);
  if (!data) throw std::bad_alloc();
  struct Mapped {
    void* data;
    size_t bytes;
  };
  nb::capsule owner(new Mapped{data, bytes}, [](void* p) noexcept {
    const Mapped* mapped = static_cast<Mapped*>(p);
    unmap(mapped->data, mapped->bytes);
    delete mapped;
  });
  return NewArray<T>(static_cast<T*>(data), {size_t(size)}, owner);
}

using Groups = std::vector<int64_t>;

NewArray<int64_t> groups(const Input& array, int64_t size) {
  if (size < 1 || size > int64_t(1) << 40) refuse("The size is out of range.");
  Groups found;
  {
    nb::gil_scoped_release release;
    found = nonzero_groups(array.data(), array.nbytes(), size_t(size) * array.itemsize());
  }
  return as_array(found);
}

// Groups of some 256 bytes may lie far apart, each in a page of its own: they come on their way in good time.
constexpr size_t kGroupsAhead = 16;
void fetch(const char* group) {
  for (int line = 0; line < 4; ++line) __builtin_prefetch(group + 64 * line);
}

// Whether one of n bytes is not zero: without a jump, which would be guessed wrongly for every third weight or so.
bool has_a_bit(const char* p, size_t n) {
  uint64_t any = 0, word = 0;
  for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
    std::memcpy(&word, p, sizeof word);
    any |= word;
  }
  for (size_t i = 0; i < n; ++i) any |= uint64_t(p[i] != 0);
  return any != 0;
}

// Writes which rows of these groups have a bit, and returns how many. A width that is known is looked at in one go.
template <size_t kBytes>
size_t find_rows(const char* first, const Vector<int64_t>& chosen, int64_t size, size_t width, int64_t* found) {
  const size_t bytes = kBytes == 0 ? width : kBytes;
  size_t n = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (i + kGroupsAhead < chosen.size()) fetch(first + size_t(chosen.data()[i + kGroupsAhead] * size) * bytes);
    const int64_t begin = chosen.data()[i] * size;
    for (int64_t row = begin; row < begin + size; ++row) {
      found[n] = row;
      n += has_a_bit(first + size_t(row) * bytes, bytes);
    }
  }
  return n;
}

NewArray<int64_t> rows(const Input& array, const Vector<int64_t>& chosen, int64_t size, int64_t width) {
  if (size < 1 || width < 1 || size > (int64_t(1) << 40) / width) refuse("The size is out of range.");
  const int64_t n_groups = int64_t(array.size()) / (size * width);
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen.data()[i] < 0 || chosen.data()[i] >= n_groups) refuse("There is no such group.");
  auto found = std::make_unique_for_overwrite<int64_t[]>(chosen.size() * size_t(size));
  size_t n = 0;
  {
    nb::gil_scoped_release release;
    const size_t bytes = size_t(width) * array.itemsize();
    const auto find = bytes == 4    ? &find_rows<4>
                      : bytes == 8  ? &find_rows<8>
                      : bytes == 16 ? &find_rows<16>
                                    : &find_rows<0>;
    n = find(static_cast<const char*>(array.data()), chosen, size, bytes, found.get());
  }
  int64_t* const data = found.release();
  return {data, {n}, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<int64_t*>(p); })};
}

NewArray<int64_t> ranges(const Input& array) {
  Groups bounds;
  {
    nb::gil_scoped_release release;
    each_touched_range(array.data(), array.nbytes(), [&](size_t begin, size_t end) {
      bounds.push_back(int64_t(begin));
      bounds.push_back(int64_t(end));
    });
  }
  return as_array(bounds);
}

}  // namespace

void bind_mapped(nb::module_& m) {
  m.def("zeros_float32", &zeros<float>, "size"_a, "Zeros of which only what is touched takes memory.");
  m.def("zeros_float64", &zeros<double>, "size"_a, "Zeros of which only what is touched takes memory.");
  m.def(
      "copy_touched",
      [](const Output& to, const Input& from) {
        if (to.dtype() != from.dtype() || to.size() < from.size()) refuse("The arrays do not fit.");
        nb::gil_scoped_release release;
        copy_touched(to.data(), from.data(), from.nbytes());
      },
      "to"_a, "from_"_a, "Copy to the beginning of `to`, which is zero, without touching what is zero.");
  m.def("nonzero_groups", &groups, "array"_a, "size"_a,
        "Which groups of `size` numbers have a bit that is not zero, ascending; the last group may have fewer.");
  m.def("nonzero_rows", &rows, "array"_a, "groups"_a, "size"_a, "width"_a,
        "Which rows of `width` numbers have a bit that is not zero, among those of these groups of `size` whole rows.");
  m.def(
      "touched_ranges", &ranges, "array"_a,
      "begin, end, begin, end, ...: bytes outside of which the array is zero, by what the system knows of its pages.");
}
