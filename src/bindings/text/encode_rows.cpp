// Dicts to rows of tables, for Python.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string_view>
#include <utility>

#include "tables.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline::text;
using sureline::bindings::refuse;
using sureline::bindings::Scalar;

namespace {

// A Python object as a cell. Memory that it refers to stays in `held` until the next one.
class ObjectCell {
 public:
  // False, with a reason, if the object is not a cell. Integers become text if all their digits count.
  bool read(PyObject* object, bool exact) {
    cell = {};
    if (object == Py_None) return true;
    if (PyBool_Check(object)) {
      cell.type = Cell::boolean, cell.value = object == Py_True;
      return true;
    }
    if (PyUnicode_Check(object)) return as_text(object, cell.characters) && (cell.type = Cell::text, true);
    if (PyFloat_Check(object)) {
      cell = Cell::of(PyFloat_AsDouble(object));
      return true;
    }
    if (PyLong_Check(object)) return as_integer(object, exact);
    if (PyList_Check(object)) return as_list(object);
    reason = "a value must be a number, a text, true, false, null or a list";
    return false;
  }
  Cell cell;
  std::string reason;

 private:
  bool as_text(PyObject* object, std::string_view& text) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(object, &size);
    if (!data) {
      if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw nb::python_error();
      PyErr_Clear();
      reason = "the text has half of a surrogate pair, which is no character";
      return false;
    }
    text = {data, size_t(size)};
    return true;
  }
  bool as_integer(PyObject* object, bool exact) {
    if (exact) {
      text_ = nb::steal(PyObject_Str(object));
      if (!text_.is_valid()) throw nb::python_error();
      cell.type = Cell::text;
      return as_text(text_.ptr(), cell.characters);
    }
    cell = Cell::of(PyLong_AsDouble(object));
    if (cell.value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      reason = "the number is out of range";
      return false;
    }
    return true;
  }
  bool as_list(PyObject* object) {
    items_.clear();
    texts_.clear();
    const Py_ssize_t n = PyList_Size(object);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* const item = PyList_GetItem(object, i);
      if (PyUnicode_Check(item)) {
        if (!as_text(item, texts_.emplace_back())) return false;
      } else if (PyFloat_Check(item) || (PyLong_Check(item) && !PyBool_Check(item))) {
        items_.push_back(PyFloat_AsDouble(item));
        if (items_.back() == -1 && PyErr_Occurred()) {
          PyErr_Clear();
          reason = "a number of the list is out of range";
          return false;
        }
      } else {
        reason = "the list holds something else than numbers or texts";
        return false;
      }
    }
    if (!items_.empty() && !texts_.empty()) {
      reason = "the list holds numbers and texts";
      return false;
    }
    cell.type = items_.empty() ? Cell::texts : Cell::numbers;
    cell.items = items_.data(), cell.item_texts = texts_.data(), cell.n_items = items_.size() + texts_.size();
    return true;
  }

  nb::object text_;
  std::vector<double> items_;
  std::vector<std::string_view> texts_;
};

template <class S>
class ObjectRows {
 public:
  ObjectRows(const HeldTable& held, bool open, int64_t bits, const Options& options, NameTable* names, int64_t every)
      : held_(held), open_(open), rows_(held.table, int(bits), options, names, every) {}

  Chunk<S> encode(const nb::list& records) {
    const auto n = int64_t(records.size());
    rows_.allocate(n, std::min<int64_t>(n * int64_t(held_.table.columns.size() + 1), 1 << 22) + 1);
    for (int64_t row = 0; row < n; ++row) {
      const nb::object given = records[size_t(row)];
      if (!PyDict_Check(given.ptr())) refuse("A row must be a dict.");
      // A number's __str__, or another thread while a text is cut into words, could take the row to pieces.
      const nb::object record = nb::steal(PyDict_Copy(given.ptr()));
      if (!record.is_valid()) throw nb::python_error();
      rows_.begin_row();
      wrong_.clear();
      const bool fine = add_record(record.ptr());
      finish_row(rows_, fine, fine ? 0 : 1, row);
      wrongs.push_back(fine ? std::string() : wrong_);
    }
    rows_.chunk.n_lines = n;
    return std::move(rows_.chunk);
  }
  std::vector<std::string> wrongs;  // the names at which rows have faults

 private:
  bool add_record(PyObject* record) {
    slots_.assign(held_.table.columns.size(), nullptr);
    others_.clear();
    Py_ssize_t position = 0;
    PyObject *name = nullptr, *value = nullptr;
    while (PyDict_Next(record, &position, &name, &value)) {
      Py_ssize_t size = 0;
      const char* const data = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : nullptr;
      if (!data) {
        if (PyErr_Occurred()) PyErr_Clear();
        wrong_.clear();  // no text holds it
        return rows_.refuse("the name of a column has half of a surrogate pair, which is no character");
      }
      const auto found = held_.places.find(std::string(data, size_t(size)));
      if (found != held_.places.end()) {
        slots_[found->second] = value;
      } else if (open_) {
        others_.emplace_back(std::string_view(data, size_t(size)), value);
      }
    }
    for (size_t k = 0; k < slots_.size(); ++k) {
      const ColumnKind kind = held_.table.columns[k].kind;
      const bool exact = kind == ColumnKind::categorical || kind == ColumnKind::text;
      wrong_ = held_.table.columns[k].name;
      if (slots_[k] && !object_.read(slots_[k], exact)) return rows_.refuse(object_.reason);
      if (!rows_.add(k, slots_[k] ? object_.cell : Cell())) return false;
    }
    for (const auto& [other, held] : others_) {
      wrong_ = other;
      if (!object_.read(held, false)) return rows_.refuse(object_.reason);
      if (!rows_.add_other(other, object_.cell)) return false;
    }
    wrong_.clear();
    return true;
  }

  const HeldTable& held_;
  const bool open_;
  TableRows<S> rows_;
  ObjectCell object_;
  std::vector<PyObject*> slots_;
  std::vector<std::pair<std::string_view, PyObject*>> others_;
  std::string wrong_;
};

std::pair<HashedChunk, std::vector<std::string>> encode_rows(const HeldTable& held, const nb::list& records, bool open,
                                                             Scalar dtype, int64_t bits, int64_t collect_names,
                                                             int64_t max_features, int64_t max_name) {
  const Options options = table_options(true, false, max_features, max_name);
  std::pair<HashedChunk, std::vector<std::string>> result;
  NameTable* const names = table_of_names(result.first, bits, collect_names);
  const auto encode = [&](auto scalar) {
    ObjectRows<decltype(scalar)> rows(held, open, bits, options, names, collect_names);
    HeldChunk chunk{rows.encode(records)};
    result.second = std::move(rows.wrongs);
    return chunk;
  };
  static_cast<HeldChunk&>(result.first) = dtype == Scalar::float32 ? encode(float()) : encode(double());
  return result;
}

}  // namespace

void bind_encode_rows(nb::module_& m) {
  m.def(
      "encode_rows", &encode_rows, "table"_a, "rows"_a, "open"_a, "dtype"_a, "bits"_a, nb::kw_only(),
      "collect_names"_a = 0, "max_features"_a = kNoLimit, "max_name"_a = kNoLimit,
      nb::sig("def encode_rows(table: Table, rows: list, open: bool, dtype: Scalar, bits: int, *, collect_names: int "
              "= 0, max_features: int = ..., max_name: int = ...) -> tuple[HashedChunk, list[str]]"),
      "Rows of dicts, and for each of them the name at which it cannot be read, or nothing. With `open`, columns that "
      "the table does not have are read by what they hold.");
}
