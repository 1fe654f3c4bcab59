// Columns of Arrow to rows, for Python.
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

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A column of Arrow in its buffers, which Python keeps.
class View {
 public:
  View(const nb::tuple& given, size_t n_rows) {
    const auto type = nb::cast<std::string>(given[0]);
    if (type == "missing") return;
    nulls_ = optional<uint8_t>(given[1], n_rows);
    if (type == "number") {
      type_ = Cell::number, numbers_ = sized<double>(given[2], n_rows);
    } else if (type == "boolean") {
      type_ = Cell::boolean, bytes_ = sized<uint8_t>(given[2], n_rows);
    } else if (type == "time") {
      type_ = Cell::time, times_ = sized<int64_t>(given[2], n_rows);
    } else if (type == "text") {
      type_ = Cell::text;
      size_t n_texts = n_rows;
      if (!given[4].is_none()) {
        codes_ = sized<int32_t>(given[4], n_rows);
        n_texts = nb::cast<Vector<int64_t>>(given[3]).size() - 1;
        for (size_t i = 0; i < n_rows; ++i)
          if (codes_[i] < -1 || codes_[i] >= int64_t(n_texts)) refuse("A code is not in the dictionary.");
      }
      texts(given[2], given[3], n_texts);
    } else if (type == "numbers") {
      type_ = Cell::numbers;
      const auto items = nb::cast<Vector<double>>(given[2]);
      numbers_ = items.data();
      lists_ = offsets(given[3], n_rows, items.size());
    } else if (type == "texts") {
      type_ = Cell::texts;
      const size_t n_texts = nb::cast<Vector<int64_t>>(given[3]).size() - 1;
      texts(given[2], given[3], n_texts);
      lists_ = offsets(given[4], n_rows, n_texts);
    } else {
      refuse("There is no such type of column.");
    }
  }

  // `items` is room for the texts of a list.
  Cell cell(size_t row, std::vector<std::string_view>& items) const {
    Cell cell;
    if (nulls_ && nulls_[row]) return cell;
    cell.type = type_;
    switch (type_) {
      case Cell::number:
        cell.value = numbers_[row];
        break;
      case Cell::boolean:
        cell.value = bytes_[row] != 0;
        break;
      case Cell::time:
        cell.micros = times_[row];
        break;
      case Cell::text:
        if (codes_ && codes_[row] < 0) return {};
        cell.characters = text(codes_ ? size_t(codes_[row]) : row);
        break;
      case Cell::numbers:
        cell.items = numbers_ + lists_[row], cell.n_items = size_t(lists_[row + 1] - lists_[row]);
        break;
      case Cell::texts:
        items.clear();
        for (int64_t i = lists_[row]; i < lists_[row + 1]; ++i) items.push_back(text(size_t(i)));
        cell.item_texts = items.data(), cell.n_items = items.size();
        break;
      default:
        break;
    }
    return cell;
  }

 private:
  template <class T>
  static const T* sized(const nb::handle& given, size_t size) {
    const auto array = nb::cast<Vector<T>>(given);
    if (array.size() != size) refuse("A column must have as many values as there are rows.");
    return array.data();
  }
  template <class T>
  static const T* optional(const nb::handle& given, size_t size) {
    return given.is_none() ? nullptr : sized<T>(given, size);
  }
  static const int64_t* offsets(const nb::handle& given, size_t n, size_t size) {
    const int64_t* const at = sized<int64_t>(given, n + 1);
    bool wrong = at[0] < 0 || at[n] > int64_t(size);
    for (size_t i = 0; i < n; ++i) wrong |= at[i + 1] < at[i];
    if (wrong) refuse("The offsets of a column must ascend within its content.");
    return at;
  }
  void texts(const nb::handle& content, const nb::handle& given, size_t n) {
    const auto array = nb::cast<Vector<uint8_t>>(content);
    characters_ = reinterpret_cast<const char*>(array.data());
    offsets_ = offsets(given, n, array.size());
  }
  std::string_view text(size_t i) const { return {characters_ + offsets_[i], size_t(offsets_[i + 1] - offsets_[i])}; }

  Cell::Type type_ = Cell::missing;
  const uint8_t *nulls_ = nullptr, *bytes_ = nullptr;
  const double* numbers_ = nullptr;
  const int64_t *times_ = nullptr, *offsets_ = nullptr, *lists_ = nullptr;
  const int32_t* codes_ = nullptr;
  const char* characters_ = nullptr;
};

HashedChunk encode_columns(const HeldTable& held, const nb::list& columns, int64_t n_rows, Scalar dtype, int64_t bits,
                           int64_t collect_names, int64_t max_features, int64_t max_name) {
  const Table& table = held.table;
  if (columns.size() != table.columns.size() || n_rows < 0) refuse("There must be a column for each of the table.");
  const Options options = table_options(true, false, max_features, max_name);
  std::vector<View> views;
  for (const nb::handle column : columns) views.emplace_back(nb::cast<nb::tuple>(column), size_t(n_rows));
  HashedChunk result;
  NameTable* const names = table_of_names(result, bits, collect_names);
  static_cast<HeldChunk&>(result) = parse_as(dtype, [&](auto scalar) {
    TableRows<decltype(scalar)> rows(table, int(bits), options, names, collect_names);
    rows.allocate(n_rows, std::min<int64_t>(n_rows * int64_t(views.size() + 1), 1 << 22) + 1);
    std::vector<std::string_view> items;
    for (int64_t row = 0; row < n_rows; ++row) {
      rows.begin_row();
      size_t k = 0;
      bool fine = true;
      for (; k < views.size() && fine; ++k) fine = rows.add(k, views[k].cell(size_t(row), items));
      finish_row(rows, fine, k, row);
    }
    rows.chunk.n_lines = n_rows;
    return std::move(rows.chunk);
  });
  return result;
}

}  // namespace

void bind_encode_columns(nb::module_& m) {
  m.def("encode_columns", &encode_columns, "table"_a, "columns"_a, "n_rows"_a, "dtype"_a, "bits"_a, nb::kw_only(),
        "collect_names"_a = 0, "max_features"_a = kNoLimit, "max_name"_a = kNoLimit,
        "Rows of the buffers of columns. A row that cannot be read is empty, with a fault: its number, and that of the "
        "column, both from 1.");
}
