#include "vw.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "labels.hpp"
#include "number.hpp"
#include "quote.hpp"
#include "row_order.hpp"

namespace sureline::text {

namespace {

constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;

// The highest bit of each byte that is below `n`; what follows the first such byte may be wrong, as in the next one.
constexpr uint64_t bytes_below(uint64_t word, uint64_t n) { return (word - kOnes * n) & ~word & kHighs; }
constexpr uint64_t bytes_equal(uint64_t word, char c) { return bytes_below(word ^ (kOnes * uint64_t(c)), 1); }

constexpr int64_t kAtOnce = 2 << 20;  // initial room for features and for rows

bool ends_name(char c) { return c == ' ' || c == ':' || c == '\t' || c == '|' || c == '\r'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_control(char c) { return static_cast<unsigned char>(c) <= 0x20; }

// The hash of a name: its number, if it is all digits, else the real hash. Control characters around it do not count.
uint32_t hash_of(const char* begin, const char* end, uint32_t seed) {
  while (begin != end && is_control(*begin)) ++begin;
  while (begin != end && is_control(end[-1])) --end;
  if (begin == end || is_digit(*begin)) {
    uint64_t number = 0;
    if (append_digits(begin, end, number) == end) return static_cast<uint32_t>(number) + seed;
  }
  return murmur3(begin, size_t(end - begin), seed);
}

template <class Scalar>
class Parser {
 public:
  Parser(int bits, const Options& options, NameTable* names, int64_t every)
      : columns_{Columns::masked, bits}, options_(options), names_(names), every_(every) {}

  Chunk<Scalar> parse(Pieces& block) {
    // Usual room; it grows for short features or rows.
    const int64_t features = std::min(block.size() / 4, kAtOnce) + 1, rows = std::min(block.size() / 64, kAtOnce) + 1;
    chunk_.indices.allocate(features);
    chunk_.values.allocate(features);
    chunk_.labels.allocate(rows);
    chunk_.starts.allocate(rows + 1);
    chunk_.starts.push(0);
    for (std::string_view piece = block.next(); !piece.empty() && read_lines(piece); piece = block.next()) {
    }
    return std::move(chunk_);
  }

 private:
  struct Namespace {
    std::string_view name;
    uint32_t hash = 0;
    double scale = 1;
    uint32_t n_nameless = 0;
  };
  struct Feature {  // as written, for its name
    enum Kind : uint8_t { named, nameless, with_text } kind;
    uint32_t hash;
    size_t in_namespace;
    const char *begin, *middle, *end;  // the name, and the text after the colon
  };

  // False if it stopped at a fault.
  bool read_lines(std::string_view piece) {
    begin_ = piece.data(), end_ = begin_ + piece.size();
    const char* line = begin_;
    if (chunk_.n_lines == 0 && options_.first_block && piece.starts_with("\xef\xbb\xbf")) line += 3;
    while (line != end_) {
      const auto* newline = static_cast<const char*>(std::memchr(line, '\n', size_t(end_ - line)));
      const char* const next = newline ? newline + 1 : end_;
      const char* eol = newline ? newline : end_;
      while (eol != line && eol[-1] == '\r') --eol;
      ++chunk_.n_lines;
      if (!read_line(line, eol)) {
        ++chunk_.n_faults;
        if (int64_t(chunk_.faults.size()) < options_.max_faults_kept)
          chunk_.faults.push_back({chunk_.n_lines, fault_at_ - line_start(line) + 1, std::move(reason_)});
        const int64_t kept = chunk_.starts.data()[chunk_.n_rows()];
        chunk_.indices.resize(kept);
        chunk_.values.resize(kept);
        if (!options_.skip_faults) return false;
      }
      line = next;
    }
    return true;
  }

  // The byte order mark is not of the line, but its columns are.
  const char* line_start(const char* line) const { return chunk_.n_lines == 1 ? begin_ : line; }

  bool fault(const char* at, std::string reason) {
    fault_at_ = at;
    reason_ = std::move(reason);
    return false;
  }

  bool read_line(const char* p, const char* eol) {
    const auto* bar = static_cast<const char*>(std::memchr(p, '|', size_t(eol - p)));
    if (!bar) {
      while (p != eol && is_blank(*p)) ++p;
      return p == eol || fault(p, "there is no '|' in the line, so it has no features");
    }
    if (!read_label(p, bar)) return false;
    counts_names_ = names_ && chunk_.n_rows() % every_ == 0;
    namespaces_.clear();
    features_.clear();
    set_room();
    while (bar != eol)
      if (!(bar = read_namespace(bar + 1, eol))) return false;
    return finish_row();
  }

  // The text before the first bar.
  bool read_label(const char* p, const char* bar) {
    row_start_ = p;
    label_ = tag_ = {};
    has_tag_ = false;
    weight_ = 1;
    std::array<std::string_view, 5> words;
    size_t n_words = 0;
    while (p != bar) {
      if (*p == ' ') {
        ++p;
        continue;
      }
      const char* const word = p;
      while (p != bar && !is_blank(*p) && *p != '\r') ++p;
      // Vowpal Wabbit ignores everything before the tab.
      if (p != bar && *p == '\t') return fault(p, "there is a tab before the first '|', where only spaces separate");
      if (p != bar && *p == '\r') return fault(p, "there is a carriage return inside the line");
      if (n_words == words.size()) --n_words;  // the last one may be a tag; otherwise there are too many anyway
      words[n_words++] = {word, size_t(p - word)};
    }
    if (n_words && (words[n_words - 1].data() + words[n_words - 1].size() == bar || words[n_words - 1][0] == '\'')) {
      tag_ = words[--n_words];
      if (tag_[0] == '\'') tag_.remove_prefix(1);
      has_tag_ = true;
    }
    if (n_words == 0) return true;
    label_ = words[0];
    double value = 0;
    if (!read_word(label_, "label", value)) return false;
    if (n_words > 1 && !read_word(words[1], "weight", weight_)) return false;
    if (weight_ < 0) return fault(words[1].data(), "the weight of the row is negative");
    if (n_words > 2 && !read_word(words[2], "initial prediction", value)) return false;
    if (n_words > 2 && value != 0)
      return fault(words[2].data(), "the initial prediction must be 0, since the learners here have none");
    if (n_words > 3) return fault(words[3].data(), "there are more words before the '|' than a label can have");
    return true;
  }

  bool read_word(std::string_view word, const char* what, double& value) {
    const char *const begin = word.data(), *const end = begin + word.size();
    const Number number = read_number(begin, end);
    value = number.value;
    if (number.state == Number::too_large) return fault(begin, "the " + std::string(what) + " is out of range");
    if (number.state == Number::ok && number.end == end) return true;
    if (word.find(':') != word.npos)
      return fault(begin, quote(word) +
                              " is not a simple label: those with costs, actions or several classes "
                              "are not read");
    return fault(begin, "the " + std::string(what) + " " + quote(word) + " is not a number");
  }

  // Returns the beginning of the next one, or the end of the line; null for a fault.
  const char* read_namespace(const char* p, const char* eol) {
    Namespace space;
    if (p != eol && !is_blank(*p) && *p != '|') {
      const char* const name = p;
      p = name_end(p, eol);
      if (p == name && *p == ':') return fault(p, "a namespace has a scale but no name"), nullptr;
      space.name = {name, size_t(p - name)};
      space.hash = hash_of(name, p, 0);
      if (p != eol && *p == ':') {
        const Number number = read_number(++p, eol);
        if (number.state != Number::ok || !ends_value(number.end, eol)) return bad_number(p, eol, number), nullptr;
        space.scale = number.value;
        p = number.end;
      }
    }
    names_space_ = false;
    while (p != eol && is_blank(*p)) {
      ++p;
      if (p == eol || is_blank(*p) || *p == '|') continue;
      if (!(p = read_feature(p, eol, space))) return nullptr;
    }
    if (p != eol && *p != '|') return fault(p, "there is a carriage return inside the line"), nullptr;
    return p;
  }

  const char* read_feature(const char* p, const char* eol, Namespace& space) {
    const char* const name = p;
    p = name_end(p, eol);
    const char* const colon = p;
    double value = space.scale;
    uint32_t hash;
    typename Feature::Kind kind = Feature::named;
    if (p != eol && *p == ':') {
      const Number number = read_number(++p, eol);
      if (number.state == Number::ok && ends_value(number.end, eol)) [[likely]] {
        value *= number.value;
        p = number.end;
      } else if (!is_text(p, eol, number)) {
        return bad_number(p, eol, number), nullptr;
      } else {
        kind = Feature::with_text;
        value = 1;
        while (p != eol && !is_blank(*p) && *p != '\r') ++p;
      }
    }
    if (kind == Feature::with_text) {
      hash = hash_of(colon + 1, p, hash_of(name, colon, space.hash));
    } else if (name != colon) {
      hash = hash_of(name, colon, space.hash);
    } else {
      kind = Feature::nameless;
      hash = space.hash + space.n_nameless++;
    }
    const Scalar rounded = static_cast<Scalar>(value);
    if (rounded == 0) return p;
    if (!std::isfinite(rounded)) return fault(name, "the value is out of range"), nullptr;
    if (p - name > options_.max_name) [[unlikely]]
      return fault(name, "the name has more than " + std::to_string(options_.max_name) + " bytes (max_name)"), nullptr;
    if (chunk_.indices.size() == room_) [[unlikely]]
      if (!more_room(name)) return nullptr;
    chunk_.indices.push(columns_.column(hash));
    chunk_.values.push(rounded);
    if (counts_names_) {
      if (!names_space_) namespaces_.push_back(space), names_space_ = true;  // namespaces without features cost nothing
      features_.push_back({kind, hash, namespaces_.size() - 1, name, colon, p});
    }
    return p;
  }

  // How many features there may be before something has to be done: make room, or refuse the row.
  void set_room() {
    room_ = std::min(chunk_.indices.capacity(), chunk_.starts.data()[chunk_.n_rows()] + options_.max_features);
  }

  bool more_room(const char* at) {
    if (chunk_.indices.size() - chunk_.starts.data()[chunk_.n_rows()] >= options_.max_features)
      return fault(at, "the row has more than " + std::to_string(options_.max_features) + " features (max_features)");
    chunk_.indices.grow(), chunk_.values.grow();
    set_room();
    return true;
  }

  const char* name_end(const char* p, const char* eol) const {
    while (end_ - p >= 8) {
      const uint64_t word = load_eight(p);
      const uint64_t found = bytes_below(word, 0x21) | bytes_equal(word, ':') | bytes_equal(word, '|');
      if (found) {
        p += std::countr_zero(found) / 8;
        break;
      }
      p += 8;
    }
    while (p < eol && !ends_name(*p)) ++p;
    return p < eol ? p : eol;
  }

  static bool ends_value(const char* p, const char* eol) { return p == eol || is_blank(*p) || *p == '|'; }

  // True if Vowpal Wabbit reads the part after a colon as text, not as a number.
  static bool is_text(const char* p, const char* eol, const Number& number) {
    if (number.state != Number::malformed || ends_value(p, eol) || is_control(*p)) return false;
    const char* q = p + (*p == '-' || *p == '+');
    for (const std::string_view word : {"inf", "nan"}) {
      if (size_t(eol - q) < word.size()) continue;
      if (std::equal(word.begin(), word.end(), q, [](char a, char b) { return a == (b | 0x20); })) return false;
    }
    // It takes "-", ".", "e5" for 0.
    q = p + (*p == '-');
    if (q != eol && *q == '.') ++q;
    if (q != eol && (*q == 'e' || *q == 'E')) {
      ++q;
      if (q != eol && *q == '-') ++q;
      while (q != eol && is_digit(*q)) ++q;
    }
    return !(q == eol || is_blank(*q));
  }

  bool bad_number(const char* p, const char* eol, const Number& number) {
    if (ends_value(p, eol)) return fault(p, "there is no value after the colon");
    if (number.state == Number::too_large) return fault(p, "the value is out of range");
    const char* end = p;
    while (!ends_value(end, eol)) ++end;
    return fault(p, "the value " + quote({p, size_t(end - p)}) + " is not a finite number");
  }

  bool finish_row() {
    int32_t index = 0;
    if (!order_.arrange(chunk_, chunk_.starts.data()[chunk_.n_rows()], columns_.bits, index))
      return fault(row_start_, "the values that share column " + std::to_string(index) + " add up to infinity");
    const int64_t first = chunk_.starts.data()[chunk_.n_rows()], size = chunk_.indices.size();
    if (size > first) chunk_.n_columns = std::max<int64_t>(chunk_.n_columns, chunk_.indices.data()[size - 1] + 1);
    const auto n_before = static_cast<size_t>(chunk_.n_rows());
    if (weight_ != 1 && chunk_.weights.empty()) chunk_.weights.assign(n_before, 1);
    if (weight_ != 1 || !chunk_.weights.empty()) chunk_.weights.push_back(weight_);
    if (has_tag_ && chunk_.tags.empty()) chunk_.tags.resize(n_before);
    if (has_tag_ || !chunk_.tags.empty()) chunk_.tags.emplace_back(tag_);
    if (chunk_.labels.size() == chunk_.labels.capacity()) chunk_.labels.grow(), chunk_.starts.grow();
    chunk_.labels.push(label_.empty() ? -1 : labels_.code(label_.data(), label_.data() + label_.size(), end_));
    chunk_.starts.push(static_cast<int32_t>(size));
    if (counts_names_) count_names();
    return true;
  }

  void count_names() {
    for (const Feature& feature : features_) names_->prefetch(feature.hash);
    for (const Feature& feature : features_)
      names_->add(feature.hash, every_, [&](NameTable::Writer& writer) {
        const Namespace& space = namespaces_[feature.in_namespace];
        if (!space.name.empty()) {
          writer.append(space.name);
          writer.append("^");
        }
        writer.append({feature.begin, size_t(feature.middle - feature.begin)});
        if (feature.kind == Feature::with_text) {
          writer.append("^");
          writer.append({feature.middle + 1, size_t(feature.end - feature.middle - 1)});
        } else if (feature.kind == Feature::nameless) {
          writer.append(":");
          writer.append(std::to_string(feature.hash - space.hash));
        }
      });
  }

  const char *begin_ = nullptr, *end_ = nullptr;  // of the piece
  const Columns columns_;
  const Options& options_;
  NameTable* const names_;
  const int64_t every_;
  Chunk<Scalar> chunk_;
  RowOrder order_;
  Labels labels_{chunk_.label_names};
  // of the current row
  std::string_view label_, tag_;
  bool has_tag_ = false, counts_names_ = false, names_space_ = false;
  int64_t room_ = 0;
  double weight_ = 1;
  std::vector<Namespace> namespaces_;
  std::vector<Feature> features_;
  const char *row_start_ = nullptr, *fault_at_ = nullptr;
  std::string reason_;
};

}  // namespace

template <class Scalar>
Chunk<Scalar> parse_vw(Pieces& block, int bits, const Options& options, NameTable* names, int64_t every) {
  return Parser<Scalar>(bits, options, names, every).parse(block);
}

template Chunk<float> parse_vw(Pieces&, int, const Options&, NameTable*, int64_t);
template Chunk<double> parse_vw(Pieces&, int, const Options&, NameTable*, int64_t);

}  // namespace sureline::text
