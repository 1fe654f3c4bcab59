// Rows made of Python's dicts, lists and strings, as scikit-learn's FeatureHasher reads them.
#include <cmath>
#include <string>
#include <string_view>

#include "hashed.hpp"
#include "text/murmur.hpp"
#include "text/row_order.hpp"

namespace nb = nanobind;
using namespace sureline::text;

namespace {

constexpr int64_t kMostFeatures = 2147483647;  // starts of rows are int32

[[noreturn]] void refuse_value(const std::string& message) { throw nb::value_error(message.c_str()); }
[[noreturn]] void refuse_type(const std::string& message) { throw nb::type_error(message.c_str()); }

std::string type_of(PyObject* object) {
  return nb::borrow<nb::str>(nb::handle(object).type().attr("__name__")).c_str();
}

// An object as part of a message, in plain characters.
std::string shown(PyObject* object) {
  const nb::object ascii = nb::steal(PyObject_ASCII(object));
  if (!ascii.is_valid()) throw nb::python_error();
  const std::string text = nb::borrow<nb::str>(ascii).c_str();
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

// How many features a row can have at most, before zeros are left out.
Py_ssize_t length_of(PyObject* row) {
  if (PyDict_Check(row)) return PyDict_Size(row);
  if (PyList_Check(row)) return PyList_Size(row);
  if (PyTuple_Check(row)) return PyTuple_Size(row);
  return -1;
}

template <class Scalar>
class RowHasher {
 public:
  RowHasher(const Columns& columns, int64_t collect_names, int64_t max_features, int64_t max_name)
      : columns_(columns), every_(collect_names), max_features_(max_features), max_name_(max_name) {
    if (every_) result_.names.emplace(NameTable::kDefaultCapacity, columns);
  }

  HashedChunk hash(PyObject* rows) {
    const Py_ssize_t n_rows = PyList_Size(rows);
    int64_t n_features = 0;
    for (Py_ssize_t i = 0; i < n_rows; ++i) {
      PyObject* const row = PyList_GetItem(rows, i);
      const Py_ssize_t length = length_of(row);
      if (length < 0)
        refuse_type("row " + std::to_string(i) + " must be a dict, a list of strings or a list of pairs, not " +
                    type_of(row) + ".");
      n_features += length;
      if (n_features > kMostFeatures) refuse_value("The rows must have fewer than 2^31 features together.");
    }
    chunk_.starts.allocate(n_rows + 1);
    chunk_.labels.allocate(n_rows);
    chunk_.indices.allocate(n_features);
    chunk_.values.allocate(n_features);
    chunk_.starts.push(0);
    for (n_before_ = 0; n_before_ < n_rows; ++n_before_) {
      // Python code that a value brings along could take the row, or the list of rows, to pieces.
      if (PyList_Size(rows) != n_rows) refuse_changed();
      const nb::object row = nb::borrow(PyList_GetItem(rows, Py_ssize_t(n_before_)));
      add_row(row.ptr());
    }
    result_.any = std::move(chunk_);
    return std::move(result_);
  }

 private:
  void add_row(PyObject* row) {
    const int64_t first = chunk_.indices.size();
    if (length_of(row) > max_features_)
      refuse_value(row_name() + "it has more than " + std::to_string(max_features_) + " features (max_features).");
    counts_names_ = every_ && n_before_ % every_ == 0;
    if (PyDict_Check(row)) {
      const Py_ssize_t size = PyDict_Size(row);
      Py_ssize_t position = 0;
      PyObject *name, *value;
      while (PyDict_Next(row, &position, &name, &value)) {
        add(name, value);
        if (PyDict_Size(row) != size) refuse_changed();
      }
    } else if (PyList_Check(row)) {
      for (Py_ssize_t i = 0; i < PyList_Size(row); ++i) add_item(PyList_GetItem(row, i));
    } else if (PyTuple_Check(row)) {
      for (Py_ssize_t i = 0; i < PyTuple_Size(row); ++i) add_item(PyTuple_GetItem(row, i));
    } else {
      refuse_changed();
    }
    int32_t index = 0;
    if (!order_.arrange(chunk_, first, columns_.bits, index))
      refuse_value(row_name() + "the values that share column " + std::to_string(index) + " add up to infinity.");
    const int64_t size = chunk_.indices.size();
    if (size > first) chunk_.n_columns = std::max<int64_t>(chunk_.n_columns, chunk_.indices.data()[size - 1] + 1);
    chunk_.labels.push(-1);
    chunk_.starts.push(static_cast<int32_t>(size));
    ++chunk_.n_lines;
  }

  void add_item(PyObject* item) {
    if (PyUnicode_Check(item)) {
      add_number(item, 1);
    } else if (PyTuple_Check(item) && PyTuple_Size(item) == 2) {
      const nb::object kept = nb::borrow(item);
      add(PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1));
    } else {
      refuse_type(row_name() + "an item of a list must be a string or a pair of a string and a value, not " +
                  type_of(item) + ".");
    }
  }

  void add(PyObject* name, PyObject* value) {
    const PyTypeObject* const type = Py_TYPE(value);
    if (type == &PyFloat_Type) {
      add_number(name, PyFloat_AsDouble(value));
    } else if (type == &PyUnicode_Type || PyUnicode_Check(value)) {
      if (!PyUnicode_Check(name)) refuse_name(name);
      const std::string_view left = utf8(name, "name"), right = utf8(value, "value");
      check_length(name, left.size() + 1 + right.size());
      joined_.assign(left);
      joined_ += '=';
      joined_ += right;
      add_hashed(name, joined_, 1);
    } else {
      // This may run Python code.
      const nb::object kept_name = nb::borrow(name), kept_value = nb::borrow(value);
      const double number = PyFloat_AsDouble(value);
      if (number == -1 && PyErr_Occurred()) refuse_number(name, value);
      add_number(name, number);
    }
  }

  void add_number(PyObject* name, double value) {
    if (!PyUnicode_Check(name)) refuse_name(name);
    if (value == 0) return;
    const std::string_view text = utf8(name, "name");
    check_length(name, text.size());
    add_hashed(name, text, value);
  }

  void check_length(PyObject* name, size_t size) const {
    if (int64_t(size) > max_name_)
      refuse_value(row_name() + "the feature " + shown(name) + " has a name of more than " + std::to_string(max_name_) +
                   " bytes (max_name).");
  }

  void add_hashed(PyObject* name, std::string_view text, double value) {
    const uint32_t hash = murmur3(text.data(), text.size(), 0);
    const auto rounded = static_cast<Scalar>(columns_.sign(hash) * value);
    if (!std::isfinite(rounded))
      refuse_value(row_name() + "the value of feature " + shown(name) +
                   (std::isfinite(value) ? " is out of range." : " must be a finite number."));
    if (chunk_.indices.size() == chunk_.indices.capacity()) refuse_changed();
    chunk_.indices.push(columns_.column(hash));
    chunk_.values.push(rounded);
    if (counts_names_) result_.names->add(hash, every_, [text](NameTable::Writer& writer) { writer.append(text); });
  }

  std::string_view utf8(PyObject* text, const char* what) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(text, &size);
    if (!data) {
      if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw nb::python_error();
      PyErr_Clear();
      refuse_value(row_name() + "the " + what + " " + shown(text) + " has a lone surrogate and is no UTF-8.");
    }
    return {data, static_cast<size_t>(size)};
  }

  std::string row_name() const { return "row " + std::to_string(n_before_) + ": "; }
  [[noreturn]] void refuse_changed() const { throw std::runtime_error("The rows changed while they were read."); }
  [[noreturn]] void refuse_name(PyObject* name) const {
    refuse_type(row_name() + "the name of a feature must be a string, not " + type_of(name) + ".");
  }
  [[noreturn]] void refuse_number(PyObject* name, PyObject* value) const {
    const bool out_of_range = PyErr_ExceptionMatches(PyExc_OverflowError);
    if (!out_of_range && !PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    const std::string start = row_name() + "the value of feature " + shown(name);
    if (out_of_range) refuse_value(start + " is out of range.");
    refuse_type(start + " must be a number or a string, not " + type_of(value) + ".");
  }

  const Columns columns_;
  const int64_t every_, max_features_, max_name_;
  HashedChunk result_;
  Chunk<Scalar> chunk_;
  RowOrder order_;
  std::string joined_;
  int64_t n_before_ = 0;
  bool counts_names_ = false;
};

}  // namespace

HashedChunk hash_rows(const nb::list& rows, int64_t bits, sureline::bindings::Scalar dtype, bool with_sign,
                      int64_t collect_names, int64_t max_features, int64_t max_name) {
  check_hashing(bits, collect_names);
  max_features = limit("max_features", max_features), max_name = limit("max_name", max_name);
  const Columns columns{with_sign ? Columns::signed_ : Columns::hashed, static_cast<int>(bits)};
  if (dtype == sureline::bindings::Scalar::float32)
    return RowHasher<float>(columns, collect_names, max_features, max_name).hash(rows.ptr());
  return RowHasher<double>(columns, collect_names, max_features, max_name).hash(rows.ptr());
}
