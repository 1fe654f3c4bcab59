// Cells of a table, independent of the file format.
//
// The same value gives the same features in every container: the text "1.5" of a CSV file, the number 1.5 of JSON and a
// double of Arrow. So a column of a table reads a cell as a number, a category, a time or a list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sureline::text {

struct Cell {
  enum Type : uint8_t { missing, number, boolean, text, time, numbers, texts } type = missing;
  double value = 0;             // of a number; 0 or 1 of a boolean
  int64_t micros = 0;           // of a time: microseconds since 1970 began
  std::string_view characters;  // of a text
  const double* items = nullptr;
  const std::string_view* item_texts = nullptr;
  size_t n_items = 0;  // of a list

  static Cell of(std::string_view text) {
    Cell cell;
    cell.type = Cell::text, cell.characters = text;
    return cell;
  }
  static Cell of(double value) {
    Cell cell;
    cell.type = Cell::number, cell.value = value;
    return cell;
  }
};

std::string_view trimmed(std::string_view text);  // without spaces and tabs around it

// True if a text says that there is no value: it is empty or blank, or one of NA, N/A, n/a, NaN, nan, null, NULL, None,
// <NA> and ?.
bool says_missing(std::string_view trimmed);

// 1 for true, True and TRUE, 0 for false, False and FALSE, -1 for anything else.
int truth_of(std::string_view trimmed);

// The result of `read_number`; not_finite for inf, infinity and numbers that are too large.
enum class Reading : uint8_t { ok, none, not_finite };
Reading number_of(std::string_view trimmed, double& value);

// A number as a category: an integer without a point, otherwise the shortest digits that give it back.
std::string number_text(double value);

// The category that a text is. `1.0` is `1`, as a column of integers with gaps is written; True and TRUE are `true`.
std::string_view category_of(std::string_view text);

// [1, 2.5] or ["a", "b"], as in JSON; commas may be missing between numbers. False for anything else.
struct List {
  std::vector<double> numbers;
  std::vector<std::string> texts;
};
bool read_list(std::string_view trimmed, List& list);

// In quotes, cut after 40 bytes, control characters escaped.
std::string shown(std::string_view text);

// The position of the first byte that is not UTF-8, or the size.
size_t valid_utf8(std::string_view text);

}  // namespace sureline::text
