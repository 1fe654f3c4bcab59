#include "delimited.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "labels.hpp"
#include "number.hpp"

namespace sureline::text {

namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf";  // the byte order mark
constexpr int64_t kAtOnce = 2 << 20;                // initial room for features

constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
constexpr uint64_t bytes_equal(uint64_t word, char c) {
  const uint64_t x = word ^ (kOnes * static_cast<unsigned char>(c));
  return (x - kOnes) & ~x & kHighs;
}

}  // namespace

bool RowCells::fault(std::string_view text) {
  // The row ends at a newline with an even number of quotes before it.
  bool odd = false;
  n_lines_ = 0;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    odd ^= text[i] == dialect_.quote && dialect_.quote;
    if (text[i] != '\n') continue;
    ++n_lines_;
    if (!odd) break;
  }
  next_ = std::min(i + 1, text.size());
  end_ = i;
  if (i == text.size() && text.back() != '\n') ++n_lines_;
  reason_ = odd ? "a quote is not closed; --quote none reads quotes as they are"
                : "a quote is in the middle of a cell; --quote none reads quotes as they are";
  return false;
}

bool RowCells::read(std::string_view text) {
  cells_.clear();
  begins_.clear();
  n_held_ = 0;
  n_lines_ = 1;
  const char *const data = text.data(), *const end = data + text.size(), *p = data;
  const char delimiter = dialect_.delimiter, quote = dialect_.quote;
  const char stop_quote = quote ? quote : '\n';
  while (true) {
    begins_.push_back(size_t(p - data));
    if (quote && p != end && *p == quote) {
      const char* begin = ++p;
      std::string* unquoted = nullptr;
      while (true) {
        const auto* const close = static_cast<const char*>(std::memchr(p, quote, size_t(end - p)));
        if (!close) return fault(text);
        p = close + 1;
        if (p == end || *p != quote) break;
        if (!unquoted) {
          if (n_held_ == held_.size()) held_.emplace_back();
          unquoted = &held_[n_held_++];
          unquoted->clear();
        }
        unquoted->append(begin, p);
        begin = ++p;
      }
      std::string_view cell(begin, size_t(p - 1 - begin));
      n_lines_ += std::count(data + begins_.back(), p, '\n');
      if (unquoted) unquoted->append(cell);
      // Stored text may move while other text is added, so its position is noted and resolved at the end.
      cells_.push_back(unquoted ? std::string_view(nullptr, n_held_) : cell);
    } else {
      const char* const begin = p;
      while (end - p >= 8) {
        const uint64_t word = load_eight(p);
        const uint64_t found = bytes_equal(word, delimiter) | bytes_equal(word, '\n') | bytes_equal(word, stop_quote);
        if (found) {
          p += std::countr_zero(found) / 8;
          break;
        }
        p += 8;
      }
      while (p != end && *p != delimiter && *p != '\n' && *p != stop_quote) ++p;
      if (p != end && quote && *p == quote) return fault(text);
      cells_.emplace_back(begin, size_t(p - begin));
    }
    if (p != end && *p == delimiter) {
      ++p;
      continue;
    }
    if (p == end || *p == '\n' || (*p == '\r' && (p + 1 == end || p[1] == '\n'))) break;
    cells_.pop_back();
    return fault(text);
  }
  end_ = size_t(p - data);
  next_ = end_;
  if (p != end && *p == '\r') ++next_;
  if (next_ != text.size()) ++next_;
  std::string_view& last = cells_.back();
  if (last.data() && !last.empty() && last.data() + last.size() == p && last.back() == '\r') {
    last.remove_suffix(1);
    --end_;
  }
  for (std::string_view& cell : cells_)
    if (!cell.data() && !cell.empty()) cell = held_[cell.size() - 1];
  return true;
}

namespace {

template <class Scalar>
class Parser {
 public:
  Parser(const Table& table, const DelimitedOptions& how, int bits, const Options& options, NameTable* names,
         int64_t every)
      : how_(how), options_(options), cells_(how.dialect), rows_(table, bits, options, names, every) {
    // Features come in the table's order, not that of the cells: sums in shared columns depend on the order.
    std::vector<size_t> cell_of(table.columns.size(), how.roles.size());
    for (size_t i = 0; i < how.roles.size(); ++i) {
      if (how.roles[i] >= 0)
        cell_of[size_t(how.roles[i])] = i;
      else if (how.roles[i] != kIgnored)
        others_.push_back(i);
    }
    for (size_t k = 0; k < cell_of.size(); ++k)
      cell_of[k] < how.roles.size() ? features_.emplace_back(k, cell_of[k]) : absent_.emplace_back(k, 0);
    tagged_ = std::count(how.roles.begin(), how.roles.end(), kTag) > 0;
    weighted_ = std::count(how.roles.begin(), how.roles.end(), kWeight) > 0;
  }

  DelimitedChunk<Scalar> parse(std::string_view block) {
    const auto size = int64_t(block.size());
    rows_.allocate(std::min(size / 64, kAtOnce) + 1, std::min(size / 4, kAtOnce) + 1);
    Labels labels(rows_.chunk.label_names);
    Chunk<Scalar>& chunk = rows_.chunk;
    for (size_t at = 0; at < block.size();) {
      const bool marked = at == 0 && options_.first_block && block.starts_with(kMark);
      const size_t skipped = marked ? kMark.size() : 0;
      const std::string_view text = block.substr(at + skipped);
      const int64_t line = chunk.n_lines + 1;
      rows_.begin_row();
      const bool fine = read_row(text, labels);
      chunk.n_lines += cells_.n_lines();
      if (!fine) {
        rows_.drop_row();
        ++chunk.n_faults;
        if (int64_t(chunk.faults.size()) < options_.max_faults_kept)
          chunk.faults.push_back({line, int64_t(fault_at_ + skipped) + 1, std::move(reason_)});
        if (!options_.skip_faults) break;
      } else if (!cells_.empty()) {
        result_.row_starts.push_back(int64_t(at));
        if (weighted_) chunk.weights.push_back(weight_);
        if (tagged_) chunk.tags.push_back(std::move(tag_));
      }
      at += skipped + cells_.next();
    }
    if (std::all_of(chunk.weights.begin(), chunk.weights.end(), [](double weight) { return weight == 1; }))
      chunk.weights.clear();
    result_.chunk = std::move(chunk);
    return std::move(result_);
  }

 private:
  bool fault(size_t at, std::string reason) {
    fault_at_ = at;
    reason_ = std::move(reason);
    return false;
  }

  // Empty lines are not rows, and not faults.
  bool read_row(std::string_view text, Labels& labels) {
    const bool split = cells_.read(text);
    const std::string_view row = text.substr(0, cells_.end());
    if (split && cells_.empty()) return true;
    if (const size_t valid = valid_utf8(row); valid < row.size())
      return fault(valid,
                   "the line is not valid UTF-8; of text from Windows, iconv -f WINDOWS-1252 -t UTF-8 makes it so");
    if (row.starts_with(kMark)) return fault(0, "there is a byte order mark in the middle of the file");
    if (!split) return fault(cells_.begin_of(cells_.cells().size()), cells_.reason());
    const auto& cells = cells_.cells();
    if (cells.size() != how_.roles.size()) {
      const size_t at = std::min(cells.size(), how_.roles.size());
      return fault(cells_.begin_of(at), "the row has " + std::to_string(cells.size()) + " cells, and the header " +
                                            std::to_string(how_.roles.size()));
    }
    int32_t label = -1;
    size_t label_cell = 0;
    weight_ = 1;
    tag_.clear();
    bool has_tag = false;
    for (const auto& [k, i] : features_)
      if (!rows_.add(k, Cell::of(cells[i]))) return fault(cells_.begin_of(i), rows_.take_reason());
    for (const auto& [k, none] : absent_)
      if (!rows_.add(k, Cell())) return fault(none, rows_.take_reason());
    for (const size_t i : others_) {
      const int64_t role = how_.roles[i];
      if (role == kLabel) {
        label_cell = i;
        const std::string_view written = trimmed(cells[i]);
        const char* const end = written.data() + written.size();
        if (!written.empty()) label = labels.code(written.data(), end, end);
      } else if (role == kWeight) {
        if (number_of(trimmed(cells[i]), weight_) != Reading::ok || weight_ < 0)
          return fault(cells_.begin_of(i), "the weight must be a number that is finite and not negative");
      } else if (role == kTag) {
        if (has_tag) tag_ += ',';
        tag_ += cells[i];
        has_tag = true;
      }
    }
    if (label < 0 && how_.need_label) return fault(cells_.begin_of(label_cell), "the row has no label");
    return rows_.end_row(label) || fault(0, rows_.take_reason());
  }

  const DelimitedOptions& how_;
  const Options options_;
  RowCells cells_;
  TableRows<Scalar> rows_;
  DelimitedChunk<Scalar> result_;
  std::vector<std::pair<size_t, size_t>> features_, absent_;  // columns of the table, and their cells
  std::vector<size_t> others_;
  bool tagged_ = false, weighted_ = false;
  double weight_ = 1;
  std::string tag_, reason_;
  size_t fault_at_ = 0;
};

}  // namespace

template <class Scalar>
DelimitedChunk<Scalar> parse_delimited(std::string_view block, const Table& table, const DelimitedOptions& how,
                                       int bits, const Options& options, NameTable* names, int64_t every) {
  return Parser<Scalar>(table, how, bits, options, names, every).parse(block);
}

template DelimitedChunk<float> parse_delimited(std::string_view, const Table&, const DelimitedOptions&, int,
                                               const Options&, NameTable*, int64_t);
template DelimitedChunk<double> parse_delimited(std::string_view, const Table&, const DelimitedOptions&, int,
                                                const Options&, NameTable*, int64_t);

}  // namespace sureline::text
