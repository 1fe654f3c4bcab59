// A row in two arrays, columns and values, that the loops can read where they are.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "loops/kernels.hpp"

namespace sureline::bindings {

// Contiguous arrays in the model's dtype, used without a copy.
class ArraysInPlace {
 public:
  ArraysInPlace(PyObject* x, bool single) {
    if (!PyTuple_Check(x) || PyTuple_Size(x) != 2) return;
    PyObject* const columns = PyTuple_GetItem(x, 0);
    if (PyTuple_Check(columns) || PyUnicode_Check(columns) || PyList_Check(columns)) return;
    if (!open(columns, columns_)) return;
    if (open(PyTuple_GetItem(x, 1), values_)) {
      const bool narrow = is(columns_, "i", 4);
      fits_ = (narrow || is(columns_, "l", 8) || is(columns_, "q", 8)) &&
              (single ? is(values_, "f", 4) : is(values_, "d", 8)) && columns_.shape[0] == values_.shape[0] &&
              columns_.shape[0] < (int64_t(1) << 31);
      wide_ = !narrow;
      if (fits_) return;
      PyBuffer_Release(&values_);
    }
    PyBuffer_Release(&columns_);
  }
  ~ArraysInPlace() {
    if (!fits_) return;
    PyBuffer_Release(&values_);
    PyBuffer_Release(&columns_);
  }
  ArraysInPlace(const ArraysInPlace&) = delete;
  ArraysInPlace& operator=(const ArraysInPlace&) = delete;

  explicit operator bool() const { return fits_; }
  int64_t size() const { return columns_.shape[0]; }

  // The row, or nothing if its last column is out of range; the loops check that the others ascend.
  std::optional<Rows> row(int64_t n_columns, bool single, int64_t* starts) const {
    const int64_t n = columns_.shape[0];
    if (n > 0) {
      const int64_t last =
          wide_ ? static_cast<const int64_t*>(columns_.buf)[n - 1] : static_cast<const int32_t*>(columns_.buf)[n - 1];
      if (last >= n_columns) return {};
    }
    if (wide_) {
      starts[0] = 0, starts[1] = n;
    } else {
      int32_t narrow[2] = {0, int32_t(n)};
      std::memcpy(starts, narrow, sizeof(narrow));
    }
    return Rows{
        wide_ ? Rows::Layout::csr64 : Rows::Layout::csr32, single, values_.buf, columns_.buf, starts, 1, n_columns};
  }
  // The row in private memory.
  Rows copied(Rows row, std::vector<char>& memory) const {
    const size_t n_values = (size_t(values_.len) + 7) / 8 * 8, n_columns = size_t(columns_.len);  // aligned
    if (memory.size() < n_values + n_columns) memory.resize(2 * (n_values + n_columns));
    if (n_columns > 0) {
      std::memcpy(memory.data(), row.values, size_t(values_.len));
      std::memcpy(memory.data() + n_values, row.indices, n_columns);
    }
    row.values = memory.data(), row.indices = memory.data() + n_values, row.steady_indices = row.steady_values = true;
    return row;
  }

 private:
  static bool open(PyObject* object, Py_buffer& view) {
    if (PyObject_GetBuffer(object, &view, PyBUF_ND | PyBUF_FORMAT) == 0) {  // contiguous, or an error
      if (view.ndim == 1 && view.format && reinterpret_cast<uintptr_t>(view.buf) % size_t(view.itemsize) == 0)
        return true;
      PyBuffer_Release(&view);
    } else {
      PyErr_Clear();
    }
    return false;
  }
  static bool is(const Py_buffer& view, const char* format, Py_ssize_t size) {
    return view.itemsize == size && std::strcmp(view.format, format) == 0;
  }
  Py_buffer columns_, values_;
  bool fits_ = false, wide_ = false;
};

}  // namespace sureline::bindings
