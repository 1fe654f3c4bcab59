// One row, read from any Python object that holds one.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models.hpp"
#include "rows/by_column.hpp"
#include "text/murmur.hpp"

namespace sureline::bindings {

constexpr int64_t kLargestColumn = 2147483646;

inline std::string shown(nb::handle object) {
  const std::string text = nb::repr(object).c_str();
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

[[noreturn]] inline void refuse_type(const std::string& message) { throw nb::type_error(message.c_str()); }

// A row being read. Columns come in any order; once arranged they ascend strictly.
class Example {
 public:
  explicit Example(int bits) : bits_(bits) {}

  // A dict of names or column numbers with their values, a list of such pairs, or two arrays: columns and values.
  void read(nb::handle x) {
    n_ = 0;
    named_ = numbered_ = false;
    if (PyDict_Check(x.ptr())) {
      read_dict(x.ptr());
    } else if (PyTuple_Check(x.ptr()) && PyTuple_Size(x.ptr()) == 2 && nb::ndarray_check(nb::handle(x)[0])) {
      read_arrays(nb::handle(x)[0], nb::handle(x)[1]);
    } else if (PyList_Check(x.ptr()) || PyTuple_Check(x.ptr())) {
      for (nb::handle entry : x) {
        if (PyUnicode_Check(entry.ptr())) {
          add_named(entry.ptr(), 1.0);
        } else if (PyTuple_Check(entry.ptr()) && PyTuple_Size(entry.ptr()) == 2) {
          add(PyTuple_GetItem(entry.ptr(), 0), PyTuple_GetItem(entry.ptr(), 1));
        } else {
          refuse_type("A row as a list has pairs of a feature and its value, or names. Got " + shown(entry) + ".");
        }
      }
    } else {
      refuse_type("A row is a dict, a list of pairs, or a tuple of two arrays, columns and values. Got " + shown(x) +
                  ".");
    }
    if (named_ && bits_ == 0)
      refuse("This model's columns are no hashes of names: give features by the numbers of their columns.");
    if (named_ && numbered_) refuse("A row has names or column numbers, not both.");
    n_ = by_column_.arrange(indices_.data(), values_.data(), n_, named_ ? bits_ : 0);
  }

  int64_t width() const { return n_ == 0 ? 0 : int64_t(indices_[n_ - 1]) + 1; }
  bool named() const { return named_; }
  int64_t size() const { return int64_t(n_); }
  std::span<const int32_t> indices() const { return {indices_.data(), n_}; }
  std::span<const double> values() const { return {values_.data(), n_}; }
  void cut(int64_t n_columns) {  // leave out the columns from n_columns on
    while (n_ > 0 && indices_[n_ - 1] >= n_columns) --n_;
  }

 private:
  struct Pair {
    PyObject *name, *value;
  };
  static constexpr size_t kBlock = 128;

  // Names with numbers are what most dicts have. None of them runs code of the user's, so they are gathered first and
  // then looked into: the processor fetches many of them at a time.
  void read_dict(PyObject* dict) {
    Pair pairs[kBlock];
    size_t n = 0;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
      if (Py_TYPE(key) == &PyUnicode_Type && is_plain_number(value)) {
        pairs[n++] = {key, value};
        if (n == kBlock) add_pairs(pairs, std::exchange(n, 0));
      } else {
        add_pairs(pairs, std::exchange(n, 0));
        // The user's code may take them out of the dict.
        const nb::object held_key = nb::borrow(key), held_value = nb::borrow(value);
        add(key, value);
      }
    }
    add_pairs(pairs, n);
  }

  static bool is_plain_number(PyObject* value) {
    const PyTypeObject* const type = Py_TYPE(value);
    return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type || PyFloat_Check(value);
  }

  void add_pairs(const Pair* pairs, size_t n) {
    if (n == 0) return;
    struct {
      const char* data;
      Py_ssize_t size;
    } names[kBlock];
    double values[kBlock];
    for (size_t i = 0; i < n; ++i) {
      names[i].data = PyUnicode_AsUTF8AndSize(pairs[i].name, &names[i].size);
      values[i] = PyFloat_AsDouble(pairs[i].value);
      if (!names[i].data || !std::isfinite(values[i]) || (values[i] == -1 && PyErr_Occurred())) [[unlikely]] {
        PyErr_Clear();
        add(pairs[i].name, pairs[i].value);  // refuses it
        names[i] = {"", 0}, values[i] = 0;
      }
    }
    named_ = true;
    make_room(n);
    const text::Columns columns{text::Columns::signed_, bits_};
    int32_t* const to_indices = indices_.data();
    double* const to_values = values_.data();
    size_t end = n_;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t hash = text::murmur3(names[i].data, size_t(names[i].size), 0);
      to_indices[end] = columns.column(hash), to_values[end] = with_sign(hash, values[i]);
      end += values[i] != 0;
    }
    n_ = end;
  }

  void add(PyObject* key, PyObject* value) {
    if (PyUnicode_Check(key)) {
      if (PyUnicode_Check(value)) {  // as scikit-learn's FeatureHasher has it
        const auto [name, length] = utf8(key);
        const auto [text, text_length] = utf8(value);
        joined_.assign(name, length).append(1, '=').append(text, text_length);
        named_ = true;
        push(text::murmur3(joined_.data(), joined_.size(), 0), 1.0);
      } else {
        add_named(key, number(key, value));
      }
    } else {
      add_numbered(key, number(key, value));
    }
  }

  void add_named(PyObject* name, double value) {
    const auto [data, length] = utf8(name);
    named_ = true;
    if (value != 0) push(text::murmur3(data, length, 0), value);
  }

  void push(uint32_t hash, double value) {
    make_room(1);
    indices_[n_] = text::Columns{text::Columns::signed_, bits_}.column(hash), values_[n_++] = with_sign(hash, value);
  }

  // Signs are a matter of chance, so no jump is made by them.
  static double with_sign(uint32_t hash, double value) {
    return std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ uint64_t(hash >> 31) << 63);
  }

  void make_room(size_t n) {
    if (indices_.size() >= n_ + n) return;
    indices_.resize(2 * (n_ + n));
    values_.resize(2 * (n_ + n));
  }

  void add_numbered(PyObject* key, double value) {
    int64_t column = -1;
    if (PyLong_Check(key) || PyIndex_Check(key)) {
      column = PyNumber_AsSsize_t(key, nullptr);
      if (column == -1 && PyErr_Occurred()) PyErr_Clear();
    } else {
      refuse_type("A feature is named by text or by the number of its column. Got " + shown(key) + ".");
    }
    check_column(column);
    numbered_ = true;
    make_room(1);
    indices_[n_] = int32_t(column), values_[n_++] = value;
  }

  static void check_column(int64_t column) {
    if (column < 0 || column > kLargestColumn)
      refuse("The column " + std::to_string(column) + " is outside 0 to " + std::to_string(kLargestColumn) + ".");
  }

  static double number(PyObject* key, PyObject* value) {
    const double x = PyFloat_AsDouble(value);
    if (x == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      refuse_type("The value of the feature " + shown(key) + " must be a number. Got " + shown(value) + ".");
    }
    if (!std::isfinite(x)) refuse("The value of the feature " + shown(key) + " is " + shown(value) + ", not finite.");
    return x;
  }

  static std::pair<const char*, size_t> utf8(PyObject* text) {
    Py_ssize_t length = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text, &length);
    if (!data) {
      PyErr_Clear();
      refuse("The name " + shown(text) + " cannot be encoded as UTF-8.");
    }
    return {data, size_t(length)};
  }

  template <class I, class V>
  void copy(const nb::ndarray<nb::ro>& columns, const nb::ndarray<nb::ro>& values) {
    const char* c = static_cast<const char*>(columns.data());
    const char* v = static_cast<const char*>(values.data());
    const int64_t c_stride = columns.stride(0) * int64_t(sizeof(I)), v_stride = values.stride(0) * int64_t(sizeof(V));
    const size_t n = columns.shape(0);
    make_room(n);
    n_ = n;
    for (size_t i = 0; i < n; ++i, c += c_stride, v += v_stride) {
      I column;
      V value;
      std::memcpy(&column, c, sizeof(I)), std::memcpy(&value, v, sizeof(V));
      if (column < 0 || int64_t(column) > kLargestColumn) check_column(int64_t(column));
      indices_[i] = int32_t(column), values_[i] = double(value);
    }
  }

  void read_arrays(nb::handle columns_object, nb::handle values_object) {
    nb::ndarray<nb::ro> columns, values;
    if (!nb::try_cast(columns_object, columns, false) || !nb::try_cast(values_object, values, false))
      refuse_type("Columns and values must both be arrays. Got " + shown(values_object) + ".");
    if (columns.ndim() != 1 || values.ndim() != 1 || columns.shape(0) != values.shape(0))
      refuse("Columns and values must be vectors of one length.");
    const auto c = columns.dtype(), v = values.dtype();
    const bool c32 = c == nb::dtype<int32_t>(), v32 = v == nb::dtype<float>();
    if ((!c32 && c != nb::dtype<int64_t>()) || (!v32 && v != nb::dtype<double>()))
      refuse_type("Columns must be int32 or int64, and values float32 or float64.");
    if (c32)
      v32 ? copy<int32_t, float>(columns, values) : copy<int32_t, double>(columns, values);
    else
      v32 ? copy<int64_t, float>(columns, values) : copy<int64_t, double>(columns, values);
    numbered_ = true;
  }

  const int bits_;
  bool named_ = false, numbered_ = false;
  size_t n_ = 0;  // how many there are; the vectors keep the length that they once had
  std::vector<int32_t> indices_;
  std::vector<double> values_;
  ByColumn by_column_;
  std::string joined_;
};

}  // namespace sureline::bindings
