// Cells of texts, times and lists as features.
#include <algorithm>
#include <cmath>

#include "number.hpp"
#include "table_rows.hpp"

namespace sureline::text {

namespace {

constexpr std::string_view kDays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr int64_t kMicrosOfHour = int64_t{3600} * 1000000, kMicrosOfDay = 24 * kMicrosOfHour;
constexpr size_t kFewWords = 24;  // are compared singly

bool is_word(char c) {
  const auto low = static_cast<unsigned char>(c | 0x20);
  return is_digit(c) || (low >= 'a' && low <= 'z') || c == '_';
}
// As Python's \s has it.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

bool is_ascii(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8)
    if (load_eight(text.data() + i) & 0x8080808080808080) return false;
  for (; i < text.size(); ++i)
    if (text[i] & char(0x80)) return false;
  return true;
}

}  // namespace

void Words::read(std::string_view text) {
  words_.clear();
  plain_.clear();
  if (!is_ascii(text)) {
    held_.clear();
    tokenize_(text, plain_, held_);
    words_.assign(held_.begin(), held_.end());
    return;
  }
  if (!rule_.keep_case) {
    lower_.assign(text);
    for (char& c : lower_)
      if (c >= 'A' && c <= 'Z') c = char(c | 0x20);
    text = lower_;
  }
  if (rule_.ngrams > 0) {
    const char *const end = text.data() + text.size(), *p = text.data();
    while (p != end) {
      while (p != end && !is_word(*p)) ++p;
      const char* const word = p;
      while (p != end && is_word(*p)) ++p;
      if (p - word > 1) words_.emplace_back(word, size_t(p - word));
    }
  }
  if (rule_.most_chars > 0)
    for (size_t i = 0; i < text.size();) {
      size_t stop = i;
      while (stop < text.size() && is_space(text[stop])) ++stop;
      if (stop > i + 1) {
        plain_ += ' ';
        i = stop;
      } else {
        plain_ += text[i++];
      }
    }
}

template <class Scalar>
void TableRows<Scalar>::begin_count() {
  counted_.clear();
  counted_text_.clear();
  has_places_ = false;
}

// A repeated name; names are identified by their hash, as everywhere.
template <class Scalar>
bool TableRows<Scalar>::count(std::string_view name) {
  const uint32_t hash = hash_of(name);
  if (!has_places_ && counted_.size() > kFewWords) {
    places_ = HashSlots<Counted>();
    has_places_ = true;
    for (size_t i = 0; i < counted_.size(); ++i) {
      *places_.find(counted_[i].hash) = {counted_[i].hash, uint32_t(i + 1)};
      places_.added();
    }
  }
  if (has_places_) {
    Counted* const place = places_.find(hash);
    if (!place->is_free()) return counted_[place->place - 1].value += 1, true;
    *place = {hash, uint32_t(counted_.size() + 1)};
    places_.added();
  } else {
    for (Made& each : counted_)
      if (each.hash == hash) return each.value += 1, true;
  }
  if (int64_t(name.size()) > options_.max_name)
    return fault("the feature " + shown(name) + " has a name of more than " + std::to_string(options_.max_name) +
                 " bytes (max_name)");
  if (int64_t(counted_.size()) >= options_.max_features)
    return fault("the row has more than " + std::to_string(options_.max_features) + " features (max_features)");
  if (!keeps_names_) name = name.substr(0, kCounted);
  if (counted_text_.size() + name.size() > kMostText)
    return fault("the row has more than " + std::to_string(kMostText) + " characters in the names of its features");
  counted_.push_back({hash, counted_text_.size(), name.size(), 1});
  if (counts_names_ || keeps_names_) counted_text_ += name;
  return true;
}

template <class Scalar>
bool TableRows<Scalar>::emit_counts() {
  const bool named = counts_names_ || keeps_names_;
  for (const Made& each : counted_)
    if (!emit(each.hash, named ? std::string_view(counted_text_).substr(each.begin, each.size) : "", each.value))
      return false;
  return true;
}

template <class Scalar>
bool TableRows<Scalar>::add_text(const PreparedColumn& column, const Cell& cell) {
  if (cell.type > Cell::text) return fault(unfit(column, "a list or a time", "text"));
  std::string held;
  std::string_view text = cell.characters;
  if (cell.type == Cell::number) text = held = number_text(cell.value);
  if (cell.type == Cell::boolean) text = cell.value != 0 ? "true" : "false";
  words_.read(text);
  begin_count();
  const auto& words = words_.words();
  for (int64_t n = 1; n <= table_.words.ngrams; ++n)
    for (size_t i = 0; i + size_t(n) <= words.size(); ++i) {
      joined_.assign(column.joined);
      for (size_t k = i; k < i + size_t(n); ++k) {
        if (k > i) joined_ += ' ';
        joined_ += words[k];
      }
      if (!count(joined_)) return false;
    }
  if (table_.words.most_chars > 0) {
    const std::string& plain = words_.plain();
    std::string name = column.nameless ? "~" : column.name + "~";
    const size_t prefix = name.size();
    for (int64_t n = std::max<int64_t>(1, table_.words.least_chars); n <= table_.words.most_chars; ++n) {
      size_t begin = 0, end = 0;
      for (int64_t k = 0; k < n && end <= plain.size(); ++k) {
        if (end == plain.size()) {
          end = plain.size() + 1;
          break;
        }
        do ++end;
        while (end < plain.size() && !begins_character(plain[end]));
      }
      while (end <= plain.size()) {
        name.resize(prefix);
        name.append(plain, begin, end - begin);
        if (!count(name)) return false;
        do ++begin;
        while (begin < plain.size() && !begins_character(plain[begin]));
        if (end == plain.size()) break;
        do ++end;
        while (end < plain.size() && !begins_character(plain[end]));
      }
    }
  }
  return emit_counts();
}

template <class Scalar>
bool TableRows<Scalar>::add_time(const PreparedColumn& column, const Cell& cell) {
  int64_t micros = cell.micros;
  bool has_hours = true;
  if (cell.type == Cell::text) {
    const std::string_view written = trimmed(cell.characters);
    if (!read_time(written, column.how, micros, has_hours))
      return fault(unfit(column, written, example_of(column.how, true)));
  } else if (cell.type == Cell::number) {
    if (!read_time(cell.value, column.how, micros, has_hours))
      return fault(unfit(column, number_text(cell.value), example_of(column.how, true)));
  } else if (cell.type != Cell::time) {
    return fault(unfit(column, "a list", "a time"));
  }
  int64_t day = micros / kMicrosOfDay, rest = micros % kMicrosOfDay;
  if (rest < 0) rest += kMicrosOfDay, --day;
  const auto weekday = size_t(((day + 3) % 7 + 7) % 7);  // 1970 began on a Thursday
  const auto one = [&](std::string_view part, double value) {
    joined_.assign(column.name);
    joined_ += part;
    return emit(hash_of(joined_), joined_, value);
  };
  if (!one(".weekday=" + std::string(kDays[weekday]), 1)) return false;
  if (column.has_hours && !one(".hour=" + std::to_string(rest / kMicrosOfHour), 1)) return false;
  return one(".age", double(micros - column.reference) / double(kMicrosOfDay));
}

template <class Scalar>
bool TableRows<Scalar>::add_list(const PreparedColumn& column, const Cell& cell) {
  const double* numbers = cell.items;
  size_t n_numbers = cell.type == Cell::numbers ? cell.n_items : 0;
  begin_count();
  if (cell.type == Cell::text) {
    const std::string_view written = trimmed(cell.characters);
    if (!read_list(written, list_)) return fault(unfit(column, written, "a list of numbers or texts"));
    numbers = list_.numbers.data(), n_numbers = list_.numbers.size();
  } else if (cell.type != Cell::numbers && cell.type != Cell::texts) {
    return fault(unfit(column, "a single value", "a list"));
  }
  const size_t n_texts = cell.type == Cell::texts ? cell.n_items : cell.type == Cell::text ? list_.texts.size() : 0;
  for (size_t i = 0; i < n_texts; ++i) {
    const std::string_view item = cell.type == Cell::texts ? cell.item_texts[i] : std::string_view(list_.texts[i]);
    if (item.empty()) continue;
    if (int64_t(column.joined.size() + item.size()) > options_.max_name)
      return fault("the feature " + shown(column.name) + " has a name of more than " +
                   std::to_string(options_.max_name) + " bytes (max_name)");
    joined_.assign(column.joined);
    joined_ += category_of(item);
    if (!count(joined_)) return false;
  }
  if (column.length >= 0 && n_texts == 0 && int64_t(n_numbers) != column.length)
    return fault("the list of the column " + shown(column.name) + " has " + std::to_string(n_numbers) +
                 " numbers, and in the first rows it had " + std::to_string(column.length));
  if (int64_t(n_numbers) > options_.max_features)
    return fault("the row has more than " + std::to_string(options_.max_features) + " features (max_features)");
  for (size_t i = 0; i < n_numbers; ++i) {
    if (!std::isfinite(numbers[i]))
      return fault("the list of the column " + shown(column.name) + " holds something that is not a finite number");
    joined_.assign(column.name);
    joined_ += '[';
    joined_ += std::to_string(i);
    joined_ += ']';
    if (!emit(hash_of(joined_), joined_, numbers[i])) return false;
  }
  return emit_counts();
}

template void TableRows<float>::begin_count();
template bool TableRows<float>::count(std::string_view);
template bool TableRows<float>::emit_counts();
template bool TableRows<float>::add_text(const PreparedColumn&, const Cell&);
template bool TableRows<float>::add_time(const PreparedColumn&, const Cell&);
template bool TableRows<float>::add_list(const PreparedColumn&, const Cell&);
template void TableRows<double>::begin_count();
template bool TableRows<double>::count(std::string_view);
template bool TableRows<double>::emit_counts();
template bool TableRows<double>::add_text(const PreparedColumn&, const Cell&);
template bool TableRows<double>::add_time(const PreparedColumn&, const Cell&);
template bool TableRows<double>::add_list(const PreparedColumn&, const Cell&);

}  // namespace sureline::text
