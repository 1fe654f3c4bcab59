// Arrays that take the memory of what is touched of them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

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
  m.def(
      "give_back",
      [](const Vector<uint8_t>& file, int64_t begin, int64_t end) {
        if (begin < 0 || end < begin || size_t(end) > file.size()) refuse("The range is not one of the file.");
        nb::gil_scoped_release release;
        give_back(file.data() + begin, size_t(end - begin));
      },
      "file"_a, "begin"_a, "end"_a,
      "Give back the memory of a part of a mapped file, which is read from the file again if it is wanted again.");
  m.def("nonzero_groups", &groups, "array"_a, "size"_a,
        "Which groups of `size` numbers have a bit that is not zero, ascending; the last group may have fewer.");
  m.def(
      "touched_ranges", &ranges, "array"_a,
      "begin, end, begin, end, ...: bytes outside of which the array is zero, by what the system knows of its pages.");
}
