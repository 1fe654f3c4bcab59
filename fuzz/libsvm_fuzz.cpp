// Any bytes for the LIBSVM parser. What it makes of them must be what a slow and simple reader makes of them, whether
// faults are skipped or not, whatever stands around them in the block, and in how many blocks they come.
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cut_pieces.hpp"
#include "text/libsvm.hpp"

namespace {

using namespace sureline::text;

#define REQUIRE(condition) ((condition) ? void() : fail(#condition, __LINE__))

[[noreturn]] void fail(const char* condition, int line) {
  std::fprintf(stderr, "libsvm_fuzz.cpp:%d: not so: %s\n", line, condition);
  std::abort();
}

// A reader with nothing clever in it.
template <class Scalar>
struct Row {
  std::string label;
  std::map<int64_t, Scalar> pairs;
  bool operator==(const Row&) const = default;
};

struct Place {
  int64_t line, column;
  bool operator==(const Place&) const = default;
};

bool is_number(const std::string& s) {
  size_t i = 0, digits = 0;
  const auto skip = [&] {
    for (; i < s.size() && s[i] >= '0' && s[i] <= '9'; ++i) ++digits;
  };
  if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
  skip();
  if (i < s.size() && s[i] == '.') ++i, skip();
  if (digits == 0) return false;
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    digits = 0;
    skip();
    if (digits == 0) return false;
  }
  return i == s.size();
}

bool is_whole(std::string_view s) { return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos; }

template <class Scalar>
struct Reader {
  Options options;
  std::vector<Row<Scalar>> rows;
  std::vector<Place> faults;
  int64_t n_lines = 0;

  void read(std::string_view text) {
    while (!text.empty()) {
      const size_t newline = text.find('\n');
      std::string_view line = text.substr(0, newline);
      text = newline == std::string_view::npos ? std::string_view() : text.substr(newline + 1);
      ++n_lines;
      size_t before = 0;
      if (n_lines == 1 && options.first_block && line.starts_with("\xEF\xBB\xBF")) before = 3;
      if (const size_t comment = line.find('#'); comment != std::string_view::npos)
        line = line.substr(0, comment);
      else if (line.ends_with('\r'))
        line.remove_suffix(1);
      Row<Scalar> row;
      const std::optional<size_t> fault = read_line(line, before, row);
      if (fault)
        faults.push_back({n_lines, int64_t(*fault) + 1});
      else if (!row.label.empty())
        rows.push_back(row);
    }
  }

  // Where the line is wrong, if it is.
  std::optional<size_t> read_line(std::string_view line, size_t at, Row<Scalar>& row) const {
    std::map<int64_t, double> sums;
    std::map<int64_t, size_t> places;
    std::optional<size_t> duplicate;
    for (int n = 0;; ++n) {
      at = line.find_first_not_of(" \t", at);
      if (at == std::string_view::npos) break;
      if (line[at] == '\r') return at;
      const size_t stop = std::min(line.size(), line.find_first_of(" \t\r", at));
      const std::string word(line.substr(at, stop - at));
      const size_t colon = word.find(':');
      if (n == 0) {
        if (colon != std::string::npos) return at;
        row.label = word;
      } else if (n == 1 && word.starts_with("qid:")) {
        const size_t sign = word.size() > 4 && (word[4] == '+' || word[4] == '-');
        if (!is_whole(word.substr(4 + sign))) return at;
      } else {
        if (colon == std::string::npos || !is_whole(word.substr(0, colon))) return at;
        const double written = std::strtod(word.substr(0, colon).c_str(), nullptr);
        if (written > double(kLargestIndex)) return at;
        const double index = written + double(options.shift);  // near the range, doubles are exact
        if (index < 0 || index > double(kLargestIndex)) return at;
        const std::string value = word.substr(colon + 1);
        const size_t value_at = at + colon + 1;
        if (!is_number(value)) return value_at;
        const Scalar x = Scalar(std::strtod(value.c_str(), nullptr));
        if (!std::isfinite(x)) return value_at;
        const auto [sum, is_new] = sums.try_emplace(int64_t(index), x);
        if (!is_new) {
          sum->second += x;
          if (!duplicate) duplicate = at;
        }
        places.try_emplace(int64_t(index), at);
      }
      at = stop;
    }
    if (duplicate && !options.sum_duplicates) return duplicate;
    for (const auto& [index, sum] : sums) {
      if (!std::isfinite(Scalar(sum))) return places[index];
      row.pairs[index] = Scalar(sum);
    }
    return {};
  }
};

// The rows of a chunk, after all that must be true of one.
template <class Scalar>
std::vector<Row<Scalar>> rows_of(const Chunk<Scalar>& chunk) {
  const int64_t n = chunk.n_rows(), size = chunk.indices.size();
  REQUIRE(chunk.starts.size() == n + 1 && chunk.values.size() == size);
  REQUIRE(chunk.starts.data()[0] == 0 && chunk.starts.data()[n] == size);
  REQUIRE(chunk.weights.empty() && chunk.tags.empty());
  REQUIRE(n <= chunk.n_lines && chunk.n_faults <= chunk.n_lines - n);
  int64_t n_columns = 0;
  int32_t n_labels = 0;
  std::vector<Row<Scalar>> rows;
  for (int64_t row = 0; row < n; ++row) {
    const int32_t begin = chunk.starts.data()[row], end = chunk.starts.data()[row + 1], code = chunk.labels.data()[row];
    REQUIRE(begin <= end);
    REQUIRE(0 <= code && code <= n_labels && code < int64_t(chunk.label_names.size()));
    n_labels = std::max(n_labels, code + 1);
    rows.push_back({chunk.label_names[size_t(code)], {}});
    for (int32_t i = begin; i < end; ++i) {
      const int32_t index = chunk.indices.data()[i];
      REQUIRE(index >= 0 && index <= kLargestIndex);
      REQUIRE(i == begin || index > chunk.indices.data()[i - 1]);
      REQUIRE(std::isfinite(chunk.values.data()[i]));
      n_columns = std::max(n_columns, int64_t{index} + 1);
      rows.back().pairs.emplace(index, chunk.values.data()[i]);
    }
  }
  REQUIRE(chunk.n_columns == n_columns);
  REQUIRE(n_labels == int64_t(chunk.label_names.size()));
  for (const Fault& fault : chunk.faults) {
    REQUIRE(!fault.reason.empty() && fault.reason.size() < 300);
    for (const char c : fault.reason) REQUIRE(c >= ' ' && c <= '~');
  }
  return rows;
}

template <class Scalar>
std::vector<Place> places_of(const Chunk<Scalar>& chunk, int64_t lines_before = 0) {
  std::vector<Place> places;
  for (const Fault& fault : chunk.faults) places.push_back({fault.line + lines_before, fault.column});
  return places;
}

// From memory of just that size, so that a look beyond it is seen.
template <class Scalar>
Chunk<Scalar> parse(std::string_view text, const Options& options) {
  const std::vector<char> copy(text.begin(), text.end());
  OnePiece piece(copy.data(), copy.data() + copy.size());
  return parse_libsvm<Scalar>(piece, options);
}

bool same_bits(const auto& a, const auto& b) {
  if (!(a == b)) return false;
  for (size_t i = 0; i < a.size(); ++i)
    for (auto x = a[i].pairs.begin(), y = b[i].pairs.begin(); x != a[i].pairs.end(); ++x, ++y)
      if (std::signbit(x->second) != std::signbit(y->second)) return false;
  return true;
}

template <class Scalar>
void check(std::string_view text, Options options) {
  options.skip_faults = true;
  options.max_faults_kept = int64_t(text.size()) + 1;
  Reader<Scalar> reader{options, {}, {}};
  reader.read(text);
  const Chunk<Scalar> all = parse<Scalar>(text, options);
  const auto rows = rows_of(all);
  const auto places = places_of(all);
  REQUIRE(same_bits(rows, reader.rows));
  REQUIRE(places == reader.faults);
  REQUIRE(all.n_faults == int64_t(places.size()) && all.n_lines == reader.n_lines);

  // Not skipping stops at the first.
  options.skip_faults = false;
  const Chunk<Scalar> until = parse<Scalar>(text, options);
  const auto first = rows_of(until);
  REQUIRE(until.n_faults == (places.empty() ? 0 : 1));
  if (places.empty()) {
    REQUIRE(same_bits(first, rows) && until.n_lines == all.n_lines);
  } else {
    REQUIRE(places_of(until) == std::vector{places[0]} && until.n_lines == places[0].line);
    REQUIRE(until.faults[0].reason == all.faults[0].reason);
    REQUIRE(first.size() <= rows.size() && same_bits(first, std::vector(rows.begin(), rows.begin() + first.size())));
  }
  options.skip_faults = true;

  // In the middle of a block.
  const std::string ends(80, '#');
  Options later = options;
  later.first_block = false;
  if (!options.first_block) {
    const Chunk<Scalar> middle = parse<Scalar>(ends + "\n" + std::string(text) + "\n" + ends, later);
    REQUIRE(same_bits(rows_of(middle), rows));
    REQUIRE(places_of(middle, -1) == places);
  }

  // In pieces.
  for (const int n_lines : {1, 2, 7}) {
    CutPieces pieces(text, n_lines);
    const Chunk<Scalar> cut = parse_libsvm<Scalar>(pieces, options);
    REQUIRE(same_bits(rows_of(cut), rows) && cut.label_names == all.label_names);
    REQUIRE(places_of(cut) == places && cut.n_lines == all.n_lines && cut.n_faults == all.n_faults);
  }

  // In two blocks.
  int tries = 0;
  for (size_t cut = text.find('\n'); cut != std::string_view::npos && tries < 4;
       cut = text.find('\n', cut + 1 + cut / 2)) {
    ++tries;
    const Chunk<Scalar> one = parse<Scalar>(text.substr(0, cut + 1), options);
    const Chunk<Scalar> two = parse<Scalar>(text.substr(cut + 1), later);
    auto both = rows_of(one);
    const auto rest = rows_of(two);
    both.insert(both.end(), rest.begin(), rest.end());
    auto where = places_of(one);
    const auto where_rest = places_of(two, one.n_lines);
    where.insert(where.end(), where_rest.begin(), where_rest.end());
    REQUIRE(same_bits(both, rows) && where == places && one.n_lines + two.n_lines == all.n_lines);
  }
}

}  // namespace

// The first byte says how to read the others: '0' plainly, and each bit that differs from it changes something.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static constexpr int64_t shifts[] = {0, 1, -1, 1000, kLargestIndex, -kLargestIndex, INT64_MAX, INT64_MIN};
  const int how = data[0] ^ '0';
  Options options;
  options.sum_duplicates = how & 1;
  options.first_block = how & 2;
  options.shift = shifts[(how >> 2) & 7];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (how & 64)
    check<float>(text, options);
  else
    check<double>(text, options);
  return 0;
}
