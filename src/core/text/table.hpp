// Rows of tables: cells of columns, each of a kind, to features whose names are hashed.
//
// A row equals that of scikit-learn's FeatureHasher for these names and values, for a column called c:
//
//     numeric        c: the number less the center   boolean    c: 1 if true
//     categorical    c=text: 1                       text       c=word, c=two words, c~chars: how often they come
//     timestamp      c.weekday=Mon, c.hour=13: 1, c.age: days since the reference
//     list           c[0], c[1], ...: the numbers; or c=item: how often it comes
//     mixed          as numeric, boolean, categorical or list, by what the cell says
//     missing        c=: 1, if the column indicates that
//
// An interaction of columns has a feature for each way to take one feature of each: the names with * between them, the
// product of the values. Features of value 0 are left out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cells.hpp"
#include "chunk.hpp"
#include "names.hpp"
#include "row_order.hpp"
#include "written.hpp"

namespace sureline::text {

enum class ColumnKind : uint8_t { numeric, boolean, categorical, text, timestamp, list, mixed };

struct TableColumn {
  std::string name;
  ColumnKind kind = ColumnKind::mixed;
  bool indicates_missing = false;
  bool nameless = false;         // words of a text stand for themselves
  bool has_hours = false;        // times have an hour
  int64_t reference = 0;         // of the age of times, in microseconds since 1970
  int64_t length = -1;           // of lists of numbers; -1 if they may have any
  Written how = Written::plain;  // of numbers and times
  double center = 0;             // subtracted from numbers
};

struct WordRule {
  int64_t ngrams = 1;  // most words per feature; 0 for none
  int64_t least_chars = 0, most_chars = 0;
  bool keep_case = false;
};

// What becomes of a text that is not ASCII: it in lower case, if that is wanted, with single spaces, and its words.
using Tokenize = std::function<void(std::string_view text, std::string& plain, std::vector<std::string>& words)>;

// A column with everything that is known before the first row.
struct PreparedColumn : TableColumn {
  std::string joined;  // name=
  uint32_t hash = 0, missing_hash = 0;
  bool crossed = false;  // in an interaction
};

struct Table {
  Table(std::vector<TableColumn> columns, std::vector<std::vector<int64_t>> interactions, const WordRule& words,
        Tokenize tokenize);

  std::vector<PreparedColumn> columns;
  std::vector<std::vector<int64_t>> interactions;  // places of columns
  WordRule words;
  Tokenize tokenize;
};

// Splits texts into words of two characters and more, or into runs of characters.
class Words {
 public:
  Words(const WordRule& rule, const Tokenize& tokenize) : rule_(rule), tokenize_(tokenize) {}
  void read(std::string_view text);
  const std::vector<std::string_view>& words() const { return words_; }
  const std::string& plain() const { return plain_; }  // the text that runs of characters are taken from

 private:
  const WordRule& rule_;
  const Tokenize& tokenize_;
  std::string lower_, plain_;
  std::vector<std::string_view> words_;
  std::vector<std::string> held_;
};

// Makes rows of cells in a chunk, row by row.
template <class Scalar>
class TableRows {
 public:
  TableRows(const Table& table, int bits, const Options& options, NameTable* names, int64_t every);

  void allocate(int64_t rows, int64_t features);
  void begin_row();
  // A cell of a column; false, and the reason, if it does not fit.
  bool add(size_t column, const Cell& cell);
  // A cell of a column that the table does not have: its contents decide.
  bool add_other(std::string_view name, const Cell& cell);
  bool end_row(int32_t label);
  void drop_row();
  bool refuse(std::string reason) { return fault(std::move(reason)); }  // a fault of the row that a reader finds
  std::string take_reason() { return std::move(reason_); }
  Chunk<Scalar> chunk;

 private:
  struct Made {  // a feature of the row, if its name is needed later
    uint32_t hash;
    size_t begin, size;  // of the name in text_
    double value;
  };
  struct Counted {
    uint32_t key;
    uint32_t place;  // in counted_, from 1
    bool is_free() const { return place == 0; }
  };

  bool fault(std::string reason);
  bool emit(uint32_t hash, std::string_view name, double value);
  bool emit_joined(const PreparedColumn& column, std::string_view text, double value);
  bool emit_number(const PreparedColumn& column, double value, std::string_view written);
  bool add_as(const PreparedColumn& column, const Cell& cell);
  bool add_category(const PreparedColumn& column, const Cell& cell);
  bool add_mixed(const PreparedColumn& column, const Cell& cell);
  bool add_text(const PreparedColumn& column, const Cell& cell);
  bool add_time(const PreparedColumn& column, const Cell& cell);
  bool add_list(const PreparedColumn& column, const Cell& cell);
  bool add_missing(const PreparedColumn& column);
  bool add_interaction(const std::vector<int64_t>& columns);
  void begin_count();
  bool count(std::string_view name);
  bool emit_counts();
  std::string unfit(const PreparedColumn& column, std::string_view written, const char* kind) const;

  const Table& table_;
  const Columns columns_;
  const Options options_;
  NameTable* const names_;
  const int64_t every_;
  RowOrder order_;
  Words words_;
  List list_;
  std::string reason_, joined_, text_;
  std::vector<Made> made_;
  std::vector<std::pair<size_t, size_t>> of_column_;  // ranges of made_ for crossed columns
  std::vector<Made> counted_;
  std::string counted_text_;
  HashSlots<Counted> places_;
  bool has_places_ = false;
  bool counts_names_ = false, keeps_names_ = false;
  int64_t first_ = 0, n_emitted_ = 0;
};

extern template class TableRows<float>;
extern template class TableRows<double>;

}  // namespace sureline::text
