// Any bytes as Vowpal Wabbit's text: rows in order, finite and within the columns, and the same however the text is
// cut.
//
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Isrc/core
//     fuzz/vw_fuzz.cpp src/core/text/*.cpp -o vw_fuzz && ./vw_fuzz -max_len=4096 -runs=1000000
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "cut_pieces.hpp"
#include "text/vw.hpp"

using namespace sureline::text;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// A copy of its own, so that the sanitizer sees the first byte that is read outside.
template <class Scalar>
Chunk<Scalar> parse(const char* begin, const char* end, int bits, const Options& options, NameTable* names) {
  const std::unique_ptr<char[]> copy(new char[size_t(end - begin)]);
  std::copy(begin, end, copy.get());
  OnePiece piece(copy.get(), copy.get() + (end - begin));
  return parse_vw<Scalar>(piece, bits, options, names);
}

template <class Scalar>
void check(const Chunk<Scalar>& chunk, int bits) {
  const int64_t n_rows = chunk.n_rows();
  require(chunk.starts.size() == n_rows + 1 && chunk.starts.data()[0] == 0);
  require(chunk.indices.size() == chunk.values.size() && chunk.starts.data()[n_rows] == chunk.indices.size());
  require(chunk.weights.empty() || int64_t(chunk.weights.size()) == n_rows);
  require(chunk.tags.empty() || int64_t(chunk.tags.size()) == n_rows);
  require(n_rows + chunk.n_faults <= chunk.n_lines);
  require(int64_t(chunk.faults.size()) == std::min<int64_t>(chunk.n_faults, 20));
  int64_t n_columns = 0;
  for (int64_t row = 0; row < n_rows; ++row) {
    require(chunk.labels.data()[row] >= -1 && chunk.labels.data()[row] < int64_t(chunk.label_names.size()));
    require(chunk.weights.empty() || (chunk.weights[size_t(row)] >= 0 && std::isfinite(chunk.weights[size_t(row)])));
    require(chunk.starts.data()[row] <= chunk.starts.data()[row + 1]);
    for (int64_t i = chunk.starts.data()[row]; i < chunk.starts.data()[row + 1]; ++i) {
      const int32_t index = chunk.indices.data()[i];
      require(index >= 0 && index < int32_t{1} << bits);
      require(i == chunk.starts.data()[row] || chunk.indices.data()[i - 1] < index);
      require(std::isfinite(chunk.values.data()[i]));
      n_columns = std::max<int64_t>(n_columns, index + 1);
    }
  }
  require(n_columns == chunk.n_columns);
  for (const Fault& fault : chunk.faults) {
    require(fault.line >= 1 && fault.line <= chunk.n_lines && fault.column >= 1 && !fault.reason.empty());
    for (const char c : fault.reason) require(c >= 0x20 && c < 0x7f);
  }
}

// One string that says all of a chunk but where its lines begin to be counted.
template <class Scalar>
std::string rows_of(const Chunk<Scalar>& chunk) {
  std::string text;
  const auto append = [&text](const auto& number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  for (int64_t row = 0; row < chunk.n_rows(); ++row) {
    const int32_t label = chunk.labels.data()[row];
    text += label < 0 ? "none" : "label " + chunk.label_names[size_t(label)];
    text += chunk.tags.empty() ? "" : chunk.tags[size_t(row)];
    append(chunk.weights.empty() ? 1.0 : chunk.weights[size_t(row)]);
    for (int64_t i = chunk.starts.data()[row]; i < chunk.starts.data()[row + 1]; ++i) {
      append(chunk.indices.data()[i]);
      append(chunk.values.data()[i]);
    }
  }
  return text;
}

template <class Scalar>
void run(const char* begin, const char* end, int bits, size_t cut_after, bool first_block) {
  Options options;
  options.first_block = first_block;
  options.skip_faults = true;
  NameTable names(64, {Columns::masked, bits});
  const Chunk<Scalar> whole = parse<Scalar>(begin, end, bits, options, &names);
  check(whole, bits);
  require(names.size() <= 64 && names.total() >= whole.indices.size());

  for (const int n_lines : {1, 3}) {
    NameTable same_names(64, {Columns::masked, bits});
    CutPieces pieces({begin, size_t(end - begin)}, n_lines);
    const Chunk<Scalar> cut = parse_vw<Scalar>(pieces, bits, options, &same_names);
    require(rows_of(cut) == rows_of(whole) && cut.label_names == whole.label_names);
    require(cut.n_lines == whole.n_lines && cut.n_faults == whole.n_faults && same_names.total() == names.total());
    for (size_t i = 0; i < cut.faults.size(); ++i)
      require(cut.faults[i].line == whole.faults[i].line && cut.faults[i].column == whole.faults[i].column);
  }

  options.skip_faults = false;
  const Chunk<Scalar> stopped = parse<Scalar>(begin, end, bits, options, nullptr);
  check(stopped, bits);
  require(stopped.n_faults == (whole.n_faults > 0));
  require(rows_of(whole).starts_with(rows_of(stopped)));
  if (whole.n_faults) {
    const Fault &first = whole.faults[0], &only = stopped.faults[0];
    require(first.line == only.line && first.column == only.column && first.reason == only.reason);
  }

  const char* const newline = std::find(begin + std::min<size_t>(cut_after, size_t(end - begin)), end, '\n');
  if (newline == end) return;
  options.skip_faults = true;
  const Chunk<Scalar> head = parse<Scalar>(begin, newline + 1, bits, options, nullptr);
  options.first_block = false;
  const Chunk<Scalar> tail = parse<Scalar>(newline + 1, end, bits, options, nullptr);
  require(rows_of(head) + rows_of(tail) == rows_of(whole));
  require(head.n_lines + tail.n_lines == whole.n_lines && head.n_faults + tail.n_faults == whole.n_faults);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const int bits = 1 + data[0] % Columns::kMostBits;
  const char *const begin = reinterpret_cast<const char*>(data) + 3, *const end = begin + (size - 3);
  if (data[2] & 1)
    run<float>(begin, end, bits, data[1], data[2] & 2);
  else
    run<double>(begin, end, bits, data[1], data[2] & 2);
  return 0;
}
