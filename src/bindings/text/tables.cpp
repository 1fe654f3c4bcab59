// Tables for Python, and delimited text to their rows.
#include "tables.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/delimited.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline::text;
using sureline::bindings::refuse;
using sureline::bindings::Scalar;

namespace {

struct DelimitedHeld : HashedChunk {
  std::vector<int64_t> row_starts;
};

// The Python function takes a text and returns it in the form that runs of characters are taken from, and its words.
Tokenize calling(nb::callable function) {
  return [function = std::move(function)](std::string_view text, std::string& plain, std::vector<std::string>& words) {
    nb::gil_scoped_acquire acquire;
    const auto [first, second] =
        nb::cast<std::tuple<std::string, std::vector<std::string>>>(function(nb::str(text.data(), text.size())));
    plain = first, words = second;
  };
}

void make_word_rule(WordRule* self, int64_t ngrams, int64_t least_chars, int64_t most_chars, bool keep_case) {
  if (ngrams < 0 || ngrams > 100 || least_chars < 0 || most_chars < least_chars || most_chars > 1000)
    refuse("There must be 0 to 100 words, and runs of 0 to 1000 characters.");
  new (self) WordRule{ngrams, least_chars, most_chars, keep_case};
}

void make_table(HeldTable* self, const std::vector<TableColumn>& columns,
                const std::vector<std::vector<int64_t>>& interactions, const WordRule& words, nb::callable tokenize) {
  std::unordered_map<std::string, size_t> places;
  for (const TableColumn& column : columns)
    if (!places.emplace(column.name, places.size()).second) refuse("A column comes twice.");
  for (const std::vector<int64_t>& interaction : interactions)
    for (const int64_t k : interaction)
      if (k < 0 || size_t(k) >= columns.size()) refuse("An interaction names a column that does not exist.");
  new (self) HeldTable{Table(columns, interactions, words, calling(std::move(tokenize))), std::move(places)};
}

char character(const nb::bytes& text, const char* name) {
  if (text.size() > 1) refuse(std::string(name) + " must be one character of ASCII, or none.");
  return text.size() ? text.c_str()[0] : '\0';
}

DelimitedHeld parse_block(const nb::object& block, const HeldTable& held, const Dialect& dialect,
                          const std::vector<int64_t>& roles, Scalar dtype, int64_t bits, bool need_label,
                          bool skip_faults, int64_t collect_names, bool first_block, int64_t max_features,
                          int64_t max_name) {
  const DelimitedOptions how{dialect, roles, need_label};
  for (const int64_t role : roles)
    if (role < kTag || (role >= 0 && size_t(role) >= held.table.columns.size())) refuse("A cell has no such role.");
  const Options options = table_options(skip_faults, first_block, max_features, max_name);
  const Block text(block);
  const std::string_view content(text.begin(), size_t(text.end() - text.begin()));
  DelimitedHeld result;
  NameTable* const names = table_of_names(result, bits, collect_names);
  static_cast<HeldChunk&>(result) = parse_as(dtype, [&](auto scalar) {
    auto parsed = parse_delimited<decltype(scalar)>(content, held.table, how, int(bits), options, names, collect_names);
    result.row_starts = std::move(parsed.row_starts);
    return std::move(parsed.chunk);
  });
  return result;
}

// Where the cells of a row begin, its bytes counted from 0, and at last where it ends; none if it is none.
std::vector<size_t> cell_starts(const nb::bytes& row, const Dialect& dialect) {
  RowCells cells(dialect);
  if (!cells.read({row.c_str(), row.size()})) return {};
  std::vector<size_t> starts;
  for (size_t i = 0; i <= cells.cells().size(); ++i) starts.push_back(cells.begin_of(i));
  return starts;
}

// The cells of the first rows of a text, and where the last of them ends; rows that are none, or empty, are left out.
std::pair<nb::list, size_t> cells_of(const nb::object& block, const Dialect& dialect, int64_t most) {
  const Block text(block);
  std::string_view rest(text.begin(), size_t(text.end() - text.begin()));
  RowCells cells(dialect);
  nb::list rows;
  size_t at = 0;
  while (at < rest.size() && int64_t(rows.size()) < most) {
    const bool fine = cells.read(rest.substr(at));
    if (fine && !cells.empty()) {
      nb::list row;
      for (const std::string_view cell : cells.cells()) row.append(nb::bytes(cell.data(), cell.size()));
      rows.append(row);
    }
    at += cells.next();
  }
  return {rows, at};
}

std::string_view characters(const nb::bytes& text) { return trimmed({text.c_str(), text.size()}); }

// The number in a text, for guessing a column's kind.
std::tuple<Reading, double> number_in(const nb::bytes& text, Written how) {
  double value = 0;
  const Reading reading = number_of(characters(text), how, value);
  return {reading, value};
}

std::optional<std::tuple<int64_t, bool>> time_in(const nb::bytes& text, Written how) {
  int64_t micros = 0;
  bool has_hours = false;
  if (!read_time(characters(text), how, micros, has_hours)) return std::nullopt;
  return std::tuple(micros, has_hours);
}

// The length of a list of numbers; -1 for texts, None for anything else.
std::optional<int64_t> list_in(const nb::bytes& text) {
  List list;
  if (!read_list(characters(text), list)) return std::nullopt;
  return list.texts.empty() ? int64_t(list.numbers.size()) : -1;
}

}  // namespace

void bind_tables(nb::module_& m) {
  nb::class_<WordRule>(m, "WordRule", "The features of a text: words in a row, and runs of characters.")
      .def("__init__", &make_word_rule, "ngrams"_a, "least_chars"_a, "most_chars"_a, "keep_case"_a);
  nb::class_<Dialect>(m, "Dialect", "The character between cells, and the one around them, which may be none.")
      .def(
          "__init__",
          [](Dialect* self, const nb::bytes& delimiter, const nb::bytes& quote) {
            new (self) Dialect{character(delimiter, "delimiter"), character(quote, "quote")};
          },
          "delimiter"_a, "quote"_a);
  nb::enum_<ColumnKind>(m, "ColumnKind", "How the cells of a column become features.")
      .value("numeric", ColumnKind::numeric)
      .value("boolean", ColumnKind::boolean)
      .value("categorical", ColumnKind::categorical)
      .value("text", ColumnKind::text)
      .value("timestamp", ColumnKind::timestamp)
      .value("list", ColumnKind::list)
      .value("mixed", ColumnKind::mixed);
  nb::enum_<Written>(m, "Written", "The notation of numbers and times.")
      .value("plain", Written::plain)
      .value("comma", Written::comma)
      .value("grouped", Written::grouped)
      .value("day_first", Written::day_first)
      .value("month_first", Written::month_first)
      .value("yyyymmdd", Written::compact)
      .value("s", Written::seconds)
      .value("ms", Written::millis)
      .value("us", Written::micros)
      .value("ns", Written::nanos);
  nb::enum_<Reading>(m, "ReadNumber", "The outcome of reading a number.")
      .value("ok", Reading::ok)
      .value("none", Reading::none)
      .value("not_finite", Reading::not_finite);
  nb::enum_<Role>(m, "Role", "Roles of cells that are not features, beside the places of columns.")
      .value("ignored", kIgnored)
      .value("label", kLabel)
      .value("weight", kWeight)
      .value("tag", kTag);
  nb::class_<TableColumn>(m, "Column", "A column of a table: how its cells are read, and what they become.")
      .def(
          "__init__",
          [](TableColumn* self, const std::string& name, ColumnKind kind, bool indicates_missing, bool nameless,
             bool has_hours, int64_t reference, int64_t length, Written how, double center) {
            new (self) TableColumn{name, kind, indicates_missing, nameless, has_hours, reference, length, how, center};
          },
          "name"_a, "kind"_a, nb::kw_only(), "indicates_missing"_a = false, "nameless"_a = false, "has_hours"_a = false,
          "reference"_a = 0, "length"_a = -1, "how"_a = Written::plain, "center"_a = 0.0);
  nb::class_<HeldTable>(m, "Table", "Columns, each of a kind, and how their cells become features.")
      .def("__init__", &make_table, "columns"_a, "interactions"_a, "words"_a, "tokenize"_a,
           "`tokenize` takes a text that is not ASCII. It returns the text for runs of characters, and its words.");
  nb::class_<DelimitedHeld, HashedChunk>(m, "DelimitedChunk", "Rows of delimited text.")
      .def_prop_ro(
          "row_starts", [](const DelimitedHeld& held) { return held.row_starts; },
          "Where the rows begin in the block.");
  m.def("parse_delimited", &parse_block, "block"_a, "table"_a, "dialect"_a, "roles"_a, "dtype"_a, "bits"_a,
        nb::kw_only(), "need_label"_a = true, "skip_faults"_a = false, "collect_names"_a = 0, "first_block"_a = false,
        "max_features"_a = kNoLimit, "max_name"_a = kNoLimit,
        "Rows of CSV or TSV. Roles of cells are places of columns, or values of `Role`.");
  m.def("cell_starts", &cell_starts, "row"_a, "dialect"_a,
        "Where the cells of a row begin, and at last where it ends; empty if it is none.");
  m.def("cells_of", &cells_of, "block"_a, "dialect"_a, "most"_a,
        nb::sig("def cells_of(block: object, dialect: Dialect, most: int) -> tuple[list[list[bytes]], int]"),
        "The cells of the first rows, and where the last of these ends.");
  bind_encode_columns(m);
  bind_encode_rows(m);
  m.def("number_in", &number_in, "text"_a, "how"_a = Written::plain,
        "0 and the number that a text is; 1 if it is none, 2 if it is not finite.");
  m.def("time_in", &time_in, "text"_a, "how"_a = Written::plain,
        "Microseconds since 1970, and whether there is an hour; None if it is no time.");
  m.def("list_in", &list_in, "text"_a, "How many numbers a list has, -1 if it has texts; None if it is no list.");
  m.def(
      "truth_in", [](const nb::bytes& text) { return truth_of(characters(text)); }, "text"_a,
      "1, 0, or -1 if it is neither true nor false.");
  m.def(
      "says_missing", [](const nb::bytes& text) { return says_missing(characters(text)); }, "text"_a,
      "Whether a text says that there is no value.");
}
