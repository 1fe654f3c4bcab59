// Delimited text, CSV and TSV, as RFC 4180 has it: cells in quotes may hold delimiters, newlines and doubled quotes.
//
// A row ends at a newline with an even number of quotes before it. An unquoted cell holds no quote, and an empty line
// is no row. Labels are bytes as written, without blanks around them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "table.hpp"

namespace sureline::text {

struct Dialect {
  char delimiter = ',';
  char quote = '"';  // 0 for none
};

enum Role : int64_t { kIgnored = -1, kLabel = -2, kWeight = -3, kTag = -4 };

struct DelimitedOptions {
  Dialect dialect;
  std::vector<int64_t> roles;  // of each cell: the position of its column in the table, or one of the above
  bool need_label = true;
};

template <class Scalar>
struct DelimitedChunk {
  Chunk<Scalar> chunk;
  std::vector<int64_t> row_starts;  // in the block
};

// Of a block that begins and ends with a row. Columns of the table that no cell has are missing in every row.
template <class Scalar>
DelimitedChunk<Scalar> parse_delimited(std::string_view block, const Table& table, const DelimitedOptions& how,
                                       int bits, const Options& options, NameTable* names, int64_t every);

// A row in cells.
class RowCells {
 public:
  explicit RowCells(const Dialect& dialect) : dialect_(dialect) {}

  // The row at the beginning of the text: false, and the reason, if a cell is none. `next` is where another one begins.
  bool read(std::string_view text);
  const std::vector<std::string_view>& cells() const { return cells_; }
  size_t begin_of(size_t cell) const { return cell < begins_.size() ? begins_[cell] : end_; }
  size_t next() const { return next_; }
  size_t end() const { return end_; }  // without the end of line
  int64_t n_lines() const { return n_lines_; }
  bool empty() const { return end_ == 0; }
  const char* reason() const { return reason_; }

 private:
  bool fault(std::string_view text);

  const Dialect dialect_;
  std::vector<std::string_view> cells_;
  std::vector<size_t> begins_;  // of cells in the text
  std::vector<std::string> held_;
  size_t n_held_ = 0, next_ = 0, end_ = 0;
  int64_t n_lines_ = 0;
  const char* reason_ = nullptr;
};

}  // namespace sureline::text
