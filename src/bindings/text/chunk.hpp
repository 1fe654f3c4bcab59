// Input and output of the parsers in Python: the bytes of any buffer or file, and a chunk of rows.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <variant>

#include "arrays.hpp"
#include "text/pieces.hpp"

// The bytes of a Python object that has the buffer protocol, in one piece, without a copy. Made and destroyed with the
// GIL held; in between it may be released, and the bytes stay.
class Block {
 public:
  explicit Block(nanobind::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
    // Starts of rows are int32, and the parsers count bytes as they do.
    if (view_.len > 2147483647) {
      PyBuffer_Release(&view_);
      throw nanobind::value_error("A block of text must have fewer than 2^31 bytes.");
    }
  }
  Block(const Block&) = delete;
  ~Block() { PyBuffer_Release(&view_); }
  const char* begin() const { return static_cast<const char*>(view_.buf); }
  const char* end() const { return begin() + view_.len; }

 private:
  Py_buffer view_;
};

// One Python class for chunks of any scalar.
struct HeldChunk {
  std::variant<sureline::text::Chunk<float>, sureline::text::Chunk<double>> any;
};

// A limit that Python asks for.
inline int64_t limit(const char* name, int64_t value) {
  if (value < 1)
    throw nanobind::value_error(
        (std::string(name) + " must be at least 1. Got " + std::to_string(value) + " instead.").c_str());
  return value < sureline::text::kNoLimit ? value : sureline::text::kNoLimit;
}

// A block that is part of an open file.
inline sureline::text::FilePieces file_part(int file, int64_t start, int64_t end, bool wait) {
  if (start < 0 || end < start || end - start > 2147483647)
    throw nanobind::value_error("A block of a file must have fewer than 2^31 bytes, from start to end.");
  return {file, start, end, wait};
}

// parse(float()) or parse(double()), as dtype says, without the GIL.
template <class Parse>
HeldChunk parse_as(sureline::bindings::Scalar dtype, const Parse& parse) {
  nanobind::gil_scoped_release release;
  if (dtype == sureline::bindings::Scalar::float32) return {parse(float())};
  return {parse(double())};
}
