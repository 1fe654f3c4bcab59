// Text to rows, for Python.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "chunk.hpp"
#include "text/libsvm.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline::text;
using sureline::bindings::Scalar;

namespace {

using Self = nb::pointer_and_handle<HeldChunk>;
template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;

// A view that keeps the chunk alive.
template <class T>
Array<T> view(const T* data, size_t size, nb::handle owner) {
  return Array<T>(const_cast<T*>(data), {size}, owner);
}
template <class T>
Array<T> view(const Buffer<T>& buffer, nb::handle owner) {
  return view(buffer.data(), size_t(buffer.size()), owner);
}

// Calls read(chunk) for a chunk of any scalar.
template <class Read>
auto ask(const HeldChunk& held, const Read& read) {
  return std::visit(read, held.any);
}

std::vector<nb::bytes> bytes_of(const std::vector<std::string>& texts) {
  std::vector<nb::bytes> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) result.emplace_back(text.data(), text.size());
  return result;
}

void bind_chunk(nb::module_& m) {
  using Values = std::variant<Array<float>, Array<double>>;
  using Faults = std::vector<std::tuple<int64_t, int64_t, std::string>>;
  nb::class_<HeldChunk>(m, "Chunk", "Rows that a parser read; its arrays are views that keep it alive.")
      .def_prop_ro(
          "values",
          [](Self self) { return ask(*self.p, [&](const auto& chunk) { return Values(view(chunk.values, self.h)); }); },
          "The values of the rows, one row after the other; all are finite.")
      .def_prop_ro(
          "indices",
          [](Self self) { return ask(*self.p, [&](const auto& chunk) { return view(chunk.indices, self.h); }); },
          "The column of each value: ascending within a row, none twice.")
      .def_prop_ro(
          "indptr",
          [](Self self) { return ask(*self.p, [&](const auto& chunk) { return view(chunk.starts, self.h); }); },
          "Where each row begins, and at last where the last one ends.")
      .def_prop_ro(
          "labels",
          [](Self self) { return ask(*self.p, [&](const auto& chunk) { return view(chunk.labels, self.h); }); },
          "Where each row's label is in label_names; -1 if it has none.")
      .def_prop_ro(
          "label_names",
          [](const HeldChunk& self) {
            return ask(self, [](const auto& chunk) { return bytes_of(chunk.label_names); });
          },
          "The labels as written, each once, in the order of their appearance.")
      .def_prop_ro(
          "weights",
          [](Self self) {
            return ask(*self.p, [&](const auto& chunk) {
              return chunk.weights.empty() ? std::nullopt
                                           : std::optional(view(chunk.weights.data(), chunk.weights.size(), self.h));
            });
          },
          "The weight of each row, or None if all are 1.")
      .def_prop_ro(
          "tags",
          [](const HeldChunk& self) {
            return ask(self, [](const auto& chunk) {
              return chunk.tags.empty() ? std::nullopt : std::optional(bytes_of(chunk.tags));
            });
          },
          "The tag of each row, or None if no row has one.")
      .def_prop_ro("n_rows",
                   [](const HeldChunk& self) { return ask(self, [](const auto& chunk) { return chunk.n_rows(); }); })
      .def_prop_ro(
          "n_columns",
          [](const HeldChunk& self) { return ask(self, [](const auto& chunk) { return chunk.n_columns; }); },
          "The largest index and one.")
      .def_prop_ro(
          "n_lines", [](const HeldChunk& self) { return ask(self, [](const auto& chunk) { return chunk.n_lines; }); },
          "The lines that were read, those without a row included.")
      .def_prop_ro(
          "n_faults", [](const HeldChunk& self) { return ask(self, [](const auto& chunk) { return chunk.n_faults; }); },
          "The lines that could not be read.")
      .def_prop_ro(
          "faults",
          [](const HeldChunk& self) {
            return ask(self, [](const auto& chunk) {
              Faults faults;
              for (const Fault& fault : chunk.faults) faults.emplace_back(fault.line, fault.column, fault.reason);
              return faults;
            });
          },
          "The line, the column in bytes (both from 1) and the reason of the first of them.");
}

HeldChunk parse_libsvm_pieces(Pieces& pieces, Scalar dtype, int64_t shift, bool sum_duplicates, bool skip_faults,
                              bool first_block, int64_t max_features) {
  if (shift < -kLargestIndex || shift > kLargestIndex)
    throw nb::value_error("shift must be an integer between -2147483646 and 2147483646.");
  Options options;
  options.shift = shift;
  options.sum_duplicates = sum_duplicates;
  options.skip_faults = skip_faults;
  options.first_block = first_block;
  options.max_features = limit("max_features", max_features);
  return parse_as(dtype, [&](auto scalar) { return parse_libsvm<decltype(scalar)>(pieces, options); });
}

HeldChunk parse_libsvm_block(const nb::object& block, Scalar dtype, int64_t shift, bool sum_duplicates,
                             bool skip_faults, bool first_block, int64_t max_features) {
  const Block text(block);
  OnePiece piece(text.begin(), text.end());
  return parse_libsvm_pieces(piece, dtype, shift, sum_duplicates, skip_faults, first_block, max_features);
}

std::optional<HeldChunk> parse_libsvm_file(int file, int64_t start, int64_t end, bool wait, Scalar dtype, int64_t shift,
                                           bool sum_duplicates, bool skip_faults, bool first_block,
                                           int64_t max_features) {
  FilePieces pieces = file_part(file, start, end, wait);
  HeldChunk chunk = parse_libsvm_pieces(pieces, dtype, shift, sum_duplicates, skip_faults, first_block, max_features);
  if (pieces.failed()) return std::nullopt;
  return chunk;
}

}  // namespace

void bind_parsers(nb::module_& m) {
  bind_chunk(m);
  m.def("parse_libsvm", &parse_libsvm_block, "block"_a, "dtype"_a, nb::kw_only(), "shift"_a = 0,
        "sum_duplicates"_a = false, "skip_faults"_a = false, "first_block"_a = false, "max_features"_a = kNoLimit,
        "Rows of LIBSVM text. The block begins and ends where a line does, or ends with the data. A row with more than "
        "max_features is a fault.");
  m.def("parse_libsvm_file", &parse_libsvm_file, "file"_a, "start"_a, "end"_a, "wait"_a, "dtype"_a, nb::kw_only(),
        "shift"_a = 0, "sum_duplicates"_a = false, "skip_faults"_a = false, "first_block"_a = false,
        "max_features"_a = kNoLimit,
        "The same for the bytes of an open file from start to end. None if they could not be read, or, without `wait`, "
        "not at once.");
}
