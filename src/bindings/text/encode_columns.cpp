// Columns of Arrow to rows, for Python.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string_view>
#include <vector>

#include "tables.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline::text;
using sureline::bindings::refuse;
using sureline::bindings::Scalar;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Nulls = std::optional<Vector<uint8_t>>;

// The cells of a column, in buffers as Arrow has them.
class ColumnCells {
 public:
  // Without a buffer all are missing.
  explicit ColumnCells(size_t n_rows) : n_rows_(n_rows) {}
  static ColumnCells of_numbers(const Vector<double>& values, const Nulls& nulls) {
    ColumnCells cells(Cell::number, values.size(), nulls);
    cells.numbers_ = cells.kept(values);
    return cells;
  }
  static ColumnCells of_booleans(const Vector<uint8_t>& values, const Nulls& nulls) {
    ColumnCells cells(Cell::boolean, values.size(), nulls);
    cells.bytes_ = cells.kept(values);
    return cells;
  }
  static ColumnCells of_times(const Vector<int64_t>& micros, const Nulls& nulls) {
    ColumnCells cells(Cell::time, micros.size(), nulls);
    cells.times_ = cells.kept(micros);
    return cells;
  }
  static ColumnCells of_texts(const Vector<uint8_t>& characters, const Vector<int64_t>& starts, const Nulls& nulls) {
    ColumnCells cells(Cell::text, n_between(starts), nulls);
    cells.hold_texts(characters, starts);
    return cells;
  }
  static ColumnCells of_codes(const Vector<int32_t>& codes, const Vector<uint8_t>& characters,
                              const Vector<int64_t>& starts) {
    ColumnCells cells(Cell::text, codes.size(), std::nullopt);
    cells.hold_texts(characters, starts);
    cells.codes_ = cells.kept(codes);
    for (size_t i = 0; i < codes.size(); ++i)
      if (codes.data()[i] < -1 || codes.data()[i] >= int64_t(n_between(starts)))
        refuse("A code is not in the dictionary.");
    return cells;
  }
  static ColumnCells of_lists(const Vector<int64_t>& starts, const Vector<double>& items, const Nulls& nulls) {
    ColumnCells cells(Cell::numbers, n_between(starts), nulls);
    cells.numbers_ = cells.kept(items);
    cells.lists_ = cells.ascending(starts, items.size());
    return cells;
  }
  static ColumnCells of_text_lists(const Vector<int64_t>& starts, const Vector<uint8_t>& characters,
                                   const Vector<int64_t>& text_starts, const Nulls& nulls) {
    ColumnCells cells(Cell::texts, n_between(starts), nulls);
    cells.hold_texts(characters, text_starts);
    cells.lists_ = cells.ascending(starts, n_between(text_starts));
    return cells;
  }
  size_t n_rows() const { return n_rows_; }

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
  ColumnCells(Cell::Type type, size_t n_rows, const Nulls& nulls) : type_(type), n_rows_(n_rows) {
    if (!nulls) return;
    if (nulls->size() != n_rows) refuse("There must be a mark of a null for each cell.");
    nulls_ = kept(*nulls);
  }
  static size_t n_between(const Vector<int64_t>& starts) {
    if (starts.size() == 0) refuse("The starts of texts and lists end with the end of the last.");
    return starts.size() - 1;
  }
  template <class T>
  const T* kept(const Vector<T>& array) {
    owners_.emplace_back(array);
    return array.data();
  }
  const int64_t* ascending(const Vector<int64_t>& starts, size_t size) {
    const int64_t* const at = kept(starts);
    const size_t n = n_between(starts);
    bool wrong = at[0] < 0 || at[n] > int64_t(size);
    for (size_t i = 0; i < n; ++i) wrong |= at[i + 1] < at[i];
    if (wrong) refuse("The starts of texts and lists must ascend within their content.");
    return at;
  }
  void hold_texts(const Vector<uint8_t>& characters, const Vector<int64_t>& starts) {
    characters_ = reinterpret_cast<const char*>(kept(characters));
    offsets_ = ascending(starts, characters.size());
  }
  std::string_view text(size_t i) const { return {characters_ + offsets_[i], size_t(offsets_[i + 1] - offsets_[i])}; }

  Cell::Type type_ = Cell::missing;
  size_t n_rows_;
  const uint8_t *nulls_ = nullptr, *bytes_ = nullptr;
  const double* numbers_ = nullptr;
  const int64_t *times_ = nullptr, *offsets_ = nullptr, *lists_ = nullptr;
  const int32_t* codes_ = nullptr;
  const char* characters_ = nullptr;
  std::vector<nb::ndarray<nb::ro>> owners_;  // keep the buffers alive
};

HashedChunk encode_columns(const HeldTable& held, const std::vector<const ColumnCells*>& columns, int64_t n_rows,
                           Scalar dtype, int64_t bits, int64_t collect_names, int64_t max_features, int64_t max_name) {
  const Table& table = held.table;
  if (columns.size() != table.columns.size() || n_rows < 0) refuse("There must be a column for each of the table.");
  const Options options = table_options(true, false, max_features, max_name);
  for (const ColumnCells* column : columns)
    if (!column || column->n_rows() != size_t(n_rows)) refuse("A column must have as many cells as there are rows.");
  HashedChunk result;
  NameTable* const names = table_of_names(result, bits, collect_names);
  static_cast<HeldChunk&>(result) = parse_as(dtype, [&](auto scalar) {
    TableRows<decltype(scalar)> rows(table, int(bits), options, names, collect_names);
    rows.allocate(n_rows, std::min<int64_t>(n_rows * int64_t(columns.size() + 1), 1 << 22) + 1);
    std::vector<std::string_view> items;
    for (int64_t row = 0; row < n_rows; ++row) {
      rows.begin_row();
      size_t k = 0;
      bool fine = true;
      for (; k < columns.size() && fine; ++k) fine = rows.add(k, columns[k]->cell(size_t(row), items));
      finish_row(rows, fine, k, row);
    }
    rows.chunk.n_lines = n_rows;
    return std::move(rows.chunk);
  });
  return result;
}

}  // namespace

void bind_encode_columns(nb::module_& m) {
  nb::class_<ColumnCells>(m, "ColumnCells",
                          "The cells of a column, in buffers as Arrow has them. `nulls` marks those that are missing.")
      .def(nb::init<size_t>(), "n_rows"_a, "A column of which every cell is missing.")
      .def_static("of_numbers", &ColumnCells::of_numbers, "values"_a, "nulls"_a.none() = nb::none())
      .def_static("of_booleans", &ColumnCells::of_booleans, "values"_a, "nulls"_a.none() = nb::none())
      .def_static("of_times", &ColumnCells::of_times, "micros"_a, "nulls"_a.none() = nb::none(),
                  "Microseconds since 1970.")
      .def_static("of_texts", &ColumnCells::of_texts, "characters"_a, "starts"_a, "nulls"_a.none() = nb::none(),
                  "The characters of all texts, and where each begins and the last one ends.")
      .def_static("of_codes", &ColumnCells::of_codes, "codes"_a, "characters"_a, "starts"_a,
                  "Texts by their number in a dictionary; -1 is missing.")
      .def_static("of_lists", &ColumnCells::of_lists, "starts"_a, "items"_a, "nulls"_a.none() = nb::none())
      .def_static("of_text_lists", &ColumnCells::of_text_lists, "starts"_a, "characters"_a, "text_starts"_a,
                  "nulls"_a.none() = nb::none());
  m.def("encode_columns", &encode_columns, "table"_a, "columns"_a, "n_rows"_a, "dtype"_a, "bits"_a, nb::kw_only(),
        "collect_names"_a = 0, "max_features"_a = kNoLimit, "max_name"_a = kNoLimit,
        "Rows of columns of ColumnCells, one for each of the table. A row that cannot be read is empty, with a fault: "
        "its number, and that of the "
        "column, both from 1.");
}
