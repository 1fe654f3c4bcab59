#include "cells.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "number.hpp"

namespace sureline::text {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r'; }

bool skip(const char*& p, const char* end, char c) { return p != end && *p == c ? (++p, true) : false; }

// Reads a JSON string; p is after its first quote. False if the string is invalid or unterminated.
bool read_string(const char*& p, const char* end, std::string& text) {
  const auto append = [&text](uint32_t c) {
    if (c < 0x80) {
      text += char(c);
    } else if (c < 0x800) {
      text += {char(0xc0 | c >> 6), char(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      text += {char(0xe0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    } else {
      text += {char(0xf0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    }
  };
  const auto four = [&p, end](uint32_t& unit) {
    if (end - p < 4) return false;
    const auto [stop, error] = std::from_chars(p, p + 4, unit, 16);
    if (error != std::errc() || stop != p + 4) return false;
    p += 4;
    return true;
  };
  while (p != end && *p != '"') {
    if (*p != '\\') {
      text += *p++;
      continue;
    }
    if (++p == end) return false;
    const char c = *p++;
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    if (const size_t at = letters.find(c); at != std::string_view::npos) {
      text += meant[at];
    } else if (uint32_t unit = 0, low = 0; c == 'u' && four(unit)) {
      if (unit >= 0xd800 && unit < 0xdc00) {
        if (!skip(p, end, '\\') || !skip(p, end, 'u') || !four(low) || low < 0xdc00 || low > 0xdfff) return false;
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
      } else if (unit >= 0xdc00 && unit < 0xe000) {
        return false;
      }
      append(unit);
    } else {
      return false;
    }
  }
  return skip(p, end, '"');
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool says_missing(std::string_view text) {
  switch (text.size()) {
    case 0:
      return true;
    case 1:
      return text[0] == '?';
    case 2:
      return text == "NA";
    case 3:
      return text == "NaN" || text == "nan" || text == "N/A" || text == "n/a";
    case 4:
      return text == "null" || text == "NULL" || text == "None" || text == "<NA>";
    default:
      return false;
  }
}

int truth_of(std::string_view text) {
  if (text.size() == 4 && (text == "true" || text == "True" || text == "TRUE")) return 1;
  if (text.size() == 5 && (text == "false" || text == "False" || text == "FALSE")) return 0;
  return -1;
}

Reading number_of(std::string_view text, double& value) {
  const char *const begin = text.data(), *const end = begin + text.size();
  const Number number = read_number(begin, end);
  if (number.state != Number::malformed && number.end == end) {
    value = number.value;
    return number.state == Number::ok ? Reading::ok : Reading::not_finite;
  }
  std::string_view word = text;
  if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.remove_prefix(1);
  std::string lower(word.size() <= 8 ? word : std::string_view());
  for (char& c : lower) c = char(c | 0x20);
  const bool infinite = lower == "inf" || lower == "infinity" || lower == "nan";
  return infinite ? Reading::not_finite : Reading::none;
}

std::string number_text(double value) {
  if (value == std::floor(value) && std::fabs(value) < 9007199254740992.0) return std::to_string(int64_t(value));
  char buffer[32];
  std::string text;
#if defined(__cpp_lib_to_chars)
  text.assign(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr);
#else
  for (int n = 14; n <= 16; ++n) {
    text.assign(buffer, size_t(std::snprintf(buffer, sizeof buffer, "%.*e", n, value)));
    if (std::strtod(buffer, nullptr) == value) break;
  }
#endif
  // Digits and exponent, laid out as Python does: with an exponent below -4 and from 16 on.
  const bool negative = text[0] == '-';
  const size_t e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1);
  std::string digits;
  for (size_t i = negative; i < e; ++i)
    if (is_digit(text[i])) digits += text[i];
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  std::string result = negative ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    result += digits[0];
    if (digits.size() > 1) result.append(1, '.').append(digits, 1);
    std::snprintf(buffer, sizeof buffer, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return result + buffer;
  }
  if (exponent < 0) return result.append("0.").append(size_t(-exponent - 1), '0').append(digits);
  const auto whole = size_t(exponent) + 1;
  if (digits.size() <= whole) return result.append(digits).append(whole - digits.size(), '0');
  return result.append(digits, 0, whole).append(1, '.').append(digits, whole);
}

std::string_view category_of(std::string_view text) {
  if (text.size() < 3) return text;
  if (text.ends_with(".0")) {
    std::string_view whole = text.substr(0, text.size() - 2), rest = whole;
    if (rest[0] == '-' && rest.size() > 1 && rest[1] != '0') rest.remove_prefix(1);
    bool plain = rest.size() <= 15 && !rest.empty() && (rest[0] != '0' || rest.size() == 1);
    for (const char c : rest) plain &= is_digit(c);
    return plain ? whole : text;
  }
  const int truth = text[0] == 'T' || text[0] == 'F' ? truth_of(text) : -1;
  return truth < 0 ? text : truth ? std::string_view("true") : std::string_view("false");
}

bool read_list(std::string_view text, List& list) {
  list.numbers.clear();
  list.texts.clear();
  if (text.size() < 2 || text.front() != '[') return false;
  const char *p = text.data() + 1, *const end = text.data() + text.size();
  const auto pass = [&p, end] {
    while (p != end && is_space(*p)) ++p;
  };
  pass();
  if (skip(p, end, ']')) return p == end;
  while (true) {
    if (skip(p, end, '"')) {
      if (!read_string(p, end, list.texts.emplace_back())) return false;
    } else {
      const Number number = read_number(p, end);
      if (number.state != Number::ok) return false;
      p = number.end;
      list.numbers.push_back(number.value);
    }
    const char* const item_end = p;
    pass();
    if (skip(p, end, ']')) break;
    if (skip(p, end, ',')) {
      pass();
    } else if (p == item_end || !list.texts.empty()) {
      return false;
    }
  }
  return p == end && (list.numbers.empty() || list.texts.empty());
}

std::string shown(std::string_view text) {
  constexpr size_t longest = 40;
  size_t n = text.size() > longest ? longest : text.size();
  while (n < text.size() && n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  std::string result = "'";
  for (const char c : text.substr(0, n)) {
    char escaped[8];
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(c));
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + (n < text.size() ? "...'" : "'");
}

size_t valid_utf8(std::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  for (size_t i = 0; i < text.size();) {
    if (i + 8 <= text.size() && (load_eight(text.data() + i) & 0x8080808080808080) == 0) {
      i += 8;
      continue;
    }
    const unsigned c = byte(i);
    size_t more = 0;
    unsigned low = 0x80, high = 0xbf;  // of the second byte
    if (c < 0x80) {
      ++i;
      continue;
    } else if (c >= 0xc2 && c < 0xe0) {
      more = 1;
    } else if (c >= 0xe0 && c < 0xf0) {
      more = 2;
      if (c == 0xe0) low = 0xa0;
      if (c == 0xed) high = 0x9f;
    } else if (c >= 0xf0 && c < 0xf5) {
      more = 3;
      if (c == 0xf0) low = 0x90;
      if (c == 0xf4) high = 0x8f;
    } else {
      return i;
    }
    if (byte(i + 1) < low || byte(i + 1) > high) return i;
    for (size_t k = 2; k <= more; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    i += more + 1;
  }
  return text.size();
}

}  // namespace sureline::text
