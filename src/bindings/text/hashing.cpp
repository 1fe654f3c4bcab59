// Names to columns, for Python.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "hashed.hpp"
#include "text/murmur.hpp"
#include "text/vw.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline::text;
using sureline::bindings::as_array;
using sureline::bindings::refuse;
using sureline::bindings::Scalar;

namespace {

HashedChunk parse_vw_pieces(Pieces& pieces, Scalar dtype, int64_t bits, bool skip_faults, int64_t collect_names,
                            bool first_block, int64_t max_features, int64_t max_name) {
  check_hashing(bits, collect_names);
  Options options;
  options.skip_faults = skip_faults;
  options.first_block = first_block;
  options.max_features = limit("max_features", max_features);
  options.max_name = limit("max_name", max_name);
  HashedChunk result;
  if (collect_names) result.names.emplace(NameTable::kDefaultCapacity, Columns{Columns::masked, int(bits)});
  NameTable* const names = result.names ? &*result.names : nullptr;
  static_cast<HeldChunk&>(result) = parse_as(
      dtype, [&](auto scalar) { return parse_vw<decltype(scalar)>(pieces, int(bits), options, names, collect_names); });
  return result;
}

HashedChunk parse_vw_block(const nb::object& block, Scalar dtype, int64_t bits, bool skip_faults, int64_t collect_names,
                           bool first_block, int64_t max_features, int64_t max_name) {
  const Block text(block);
  OnePiece piece(text.begin(), text.end());
  return parse_vw_pieces(piece, dtype, bits, skip_faults, collect_names, first_block, max_features, max_name);
}

std::optional<HashedChunk> parse_vw_file(int file, int64_t start, int64_t end, bool wait, Scalar dtype, int64_t bits,
                                         bool skip_faults, int64_t collect_names, bool first_block,
                                         int64_t max_features, int64_t max_name) {
  FilePieces pieces = file_part(file, start, end, wait);
  HashedChunk chunk =
      parse_vw_pieces(pieces, dtype, bits, skip_faults, collect_names, first_block, max_features, max_name);
  if (pieces.failed()) return std::nullopt;
  return chunk;
}

// Names are bytes in some files, and cut ones may end in the middle of anything.
nb::str shown(std::string_view text) {
  PyObject* const decoded = PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace");
  if (!decoded) throw nb::python_error();
  return nb::steal<nb::str>(decoded);
}

using Described = std::tuple<nb::str, int64_t, int>;
using Placed = std::tuple<int32_t, nb::str, int64_t, int>;

nb::dict to_arrays(const NameTable& table) {
  const NameTable::Content content = table.content();
  nb::dict arrays;
  arrays["names"] = as_array(std::vector<uint8_t>(content.names.begin(), content.names.end()));
  arrays["offsets"] = as_array(content.offsets);
  arrays["hashes"] = as_array(content.hashes);
  arrays["counts"] = as_array(content.counts);
  arrays["sampled_hashes"] = as_array(content.sampled_hashes);
  arrays["sampled_shared"] = as_array(content.sampled_shared);
  const std::vector<int64_t> totals = {content.capacity,     int64_t(content.columns.kind),
                                       content.columns.bits, content.total,
                                       content.error,        content.level};
  arrays["totals"] = as_array(totals);
  return arrays;
}

template <class T>
std::vector<T> items_of(const nb::dict& arrays, const char* name, const char* type) {
  const std::string problem = "The table of names is damaged: '" + std::string(name) + "' ";
  if (!arrays.contains(name)) refuse(problem + "is missing.");
  nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
  if (!nb::try_cast(arrays[name], array, false)) refuse(problem + "must be a one-dimensional array of " + type + ".");
  return std::vector<T>(array.data(), array.data() + array.size());
}

NameTable from_arrays(const nb::dict& arrays) {
  NameTable::Content content;
  const std::vector<uint8_t> names = items_of<uint8_t>(arrays, "names", "uint8");
  content.names.assign(names.begin(), names.end());
  content.offsets = items_of<int64_t>(arrays, "offsets", "int64");
  content.hashes = items_of<uint32_t>(arrays, "hashes", "uint32");
  content.counts = items_of<int64_t>(arrays, "counts", "int64");
  content.sampled_hashes = items_of<uint32_t>(arrays, "sampled_hashes", "uint32");
  content.sampled_shared = items_of<uint8_t>(arrays, "sampled_shared", "uint8");
  const std::vector<int64_t> totals = items_of<int64_t>(arrays, "totals", "int64");
  if (totals.size() != 6) refuse("The table of names is damaged: 'totals' must have 6 entries.");
  if (arrays.size() != 7) refuse("The table of names is damaged: it must have 7 arrays.");
  content.capacity = totals[0];
  // Numbers that do not fit their smaller types become ones that are refused.
  content.columns.kind = static_cast<Columns::Kind>(std::clamp<int64_t>(totals[1], -1, 255) & 255);
  content.columns.bits = static_cast<int>(std::clamp<int64_t>(totals[2], -1, 255));
  content.total = totals[3], content.error = totals[4], content.level = totals[5];
  NameTable table;
  if (const auto wrong = NameTable::restore(content, table)) refuse("The table of names is damaged: " + *wrong + ".");
  return table;
}

void bind_names(nb::module_& m) {
  nb::class_<NameTable>(m, "NameTable",
                        "The names seen most, within a bounded table, and how many columns are shared.\n\n"
                        "With n names counted, count <= true count <= count + error and error <= 2 n / capacity; while "
                        "error is 0, all are there.")
      .def(
          "__init__",
          [](NameTable* self, int64_t capacity) {
            if (capacity < 1 || capacity > NameTable::kMostCapacity)
              refuse("capacity must be from 1 to 1048576. Got " + std::to_string(capacity) + " instead.");
            new (self) NameTable(capacity);
          },
          "capacity"_a = NameTable::kDefaultCapacity)
      .def(
          "merge",
          [](NameTable& table, const NameTable& names) {
            if (!table.fits(names)) refuse("The names were hashed in another way or to another number of bits.");
            if (table.total() > NameTable::kMostTotal - names.total())
              refuse("The tables counted too much to be merged.");
            table.merge(names);
          },
          "names"_a, "Add what another table counted, as if it had been counted here.")
      .def(
          "lookup",
          [](const NameTable& table, int64_t index) {
            std::vector<Described> found;
            if (index < 0 || index > kLargestIndex) return found;
            for (const NameTable::Name& name : table.at(static_cast<int32_t>(index)))
              found.emplace_back(shown(name.text), name.count, name.sign);
            return found;
          },
          "index"_a,
          "The known names of a column, those seen most first: (name, count, sign). A weight as a name sees it is the "
          "column's weight times the sign.")
      .def(
          "top",
          [](const NameTable& table, int64_t n) {
            std::vector<Placed> found;
            for (const NameTable::Name& name : table.top(n))
              found.emplace_back(name.column, shown(name.text), name.count, name.sign);
            return found;
          },
          "n"_a, "The names seen most: (index, name, count, sign).")
      .def("__len__", [](const NameTable& table) { return table.size(); })
      .def_prop_ro("capacity", &NameTable::capacity)
      .def_prop_ro(
          "bits",
          [](const NameTable& table) {
            return table.has_columns() ? std::optional<int>(table.columns().bits) : std::nullopt;
          },
          "The number of columns is two to this power; None before the first names.")
      .def_prop_ro("total", &NameTable::total, "How many occurrences of names were counted.")
      .def_prop_ro("error", &NameTable::error, "By how much a count can be too small; 0 while no name was dropped.")
      .def_prop_ro("n_columns", &NameTable::n_columns, "How many columns have a name.")
      .def_prop_ro("n_collisions", &NameTable::n_shared, "How many columns have more than one name.")
      .def_prop_ro("exact", &NameTable::counts_columns_exactly,
                   "Whether n_columns and n_collisions are exact, and not estimated from a sample of the columns.")
      .def("to_arrays", &to_arrays, "All there is, as arrays that from_arrays takes.")
      .def_static("from_arrays", &from_arrays, "arrays"_a, "The table that to_arrays wrote; everything is checked.")
      .def("__getstate__", &to_arrays)
      .def("__setstate__",
           [](NameTable& table, const nb::dict& arrays) { new (&table) NameTable(from_arrays(arrays)); });
}

}  // namespace

void bind_hashing(nb::module_& m) {
  bind_names(m);
  nb::class_<HashedChunk, HeldChunk>(m, "HashedChunk", "Rows whose columns are hashes of names.")
      .def_prop_ro(
          "names", [](HashedChunk& chunk) { return chunk.names ? &*chunk.names : nullptr; },
          nb::rv_policy::reference_internal, nb::sig("def names(self) -> NameTable | None"),
          "A NameTable of the names that were seen, or None if they were not asked for.");
  m.def("parse_vw", &parse_vw_block, "block"_a, "dtype"_a, "bits"_a, nb::kw_only(), "skip_faults"_a = false,
        "collect_names"_a = 0, "first_block"_a = false, "max_features"_a = kNoLimit, "max_name"_a = kNoLimit,
        "Rows of Vowpal Wabbit's text, without its constant. The block begins and ends where a line does, or ends with "
        "the data. With collect_names = k the names of every k-th row are counted, k times each. A "
        "row with more than max_features, or a name of more than max_name bytes, is a fault.");
  m.def("parse_vw_file", &parse_vw_file, "file"_a, "start"_a, "end"_a, "wait"_a, "dtype"_a, "bits"_a, nb::kw_only(),
        "skip_faults"_a = false, "collect_names"_a = 0, "first_block"_a = false, "max_features"_a = kNoLimit,
        "max_name"_a = kNoLimit,
        "The same for the bytes of an open file from start to end. None if they could not be read, or, without `wait`, "
        "not at once.");
  m.def(
      "murmur3",
      [](const nb::bytes& text, uint32_t seed) {
        return static_cast<int32_t>(murmur3(text.c_str(), text.size(), seed));
      },
      "text"_a, "seed"_a = 0, "MurmurHash3_x86_32 as a signed number.");
}
