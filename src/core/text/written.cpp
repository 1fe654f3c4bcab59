#include "written.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "number.hpp"

namespace sureline::text {

namespace {

constexpr int64_t kMicrosOfDay = int64_t{86400} * 1000000;
constexpr double kFarthest = double(int64_t{1} << 58);  // microseconds: nine thousand years
constexpr size_t kLongestNumber = 400;

// Days since 1970 of a date of the Gregorian calendar: years begin in March here, so that leap days come last.
int64_t days_of(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

int days_in(int64_t year, int64_t month) {
  constexpr std::array<int, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return days[size_t(month - 1)] + (month == 2 && leap);
}

bool is_date(int64_t year, int64_t month, int64_t day) {
  return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month);
}

// The rest of a text.
struct Rest {
  const char *p, *end;

  bool empty() const { return p == end; }
  bool skip(char c) { return p != end && *p == c ? (++p, true) : false; }
  void skip_spaces() {
    while (skip(' ')) {
    }
  }
  // Digits, from `least` to `most` of them; -1 if there are fewer.
  int64_t digits(int least, int most) {
    int64_t number = 0;
    int n = 0;
    for (; n < most && p != end && is_digit(*p); ++n, ++p) number = number * 10 + (*p - '0');
    return n < least ? -1 : number;
  }
  int64_t digits(int n) { return digits(n, n); }
  // An English month, or its first three letters; -1 for anything else.
  int64_t month_name() {
    constexpr std::array<std::string_view, 12> names = {"january",   "february", "march",    "april",
                                                        "may",       "june",     "july",     "august",
                                                        "september", "october",  "november", "december"};
    std::string word;
    for (const char* at = p; at != end && ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z') && word.size() < 10; ++at)
      word += char(*at | 0x20);
    for (size_t k = 0; k < names.size(); ++k)
      if (word == names[k] || word == names[k].substr(0, 3)) return p += word.size(), int64_t(k + 1);
    return -1;
  }
};

struct Date {
  int64_t year, month, day;
};

bool read_iso_date(Rest& rest, Date& date) {
  date.year = rest.digits(4);
  const char mark = rest.empty() ? '\0' : *rest.p;
  if (date.year < 0 || (mark != '-' && mark != '/' && mark != '.')) return false;
  rest.skip(mark);
  date.month = rest.digits(2);
  if (!rest.skip(mark)) return false;
  date.day = rest.digits(2);
  return true;
}

bool read_other_date(Rest& rest, Written how, Date& date) {
  int64_t parts[2];
  char mark = '\0';
  for (int k = 0; k < 2; ++k) {
    const bool is_month = (k == 0) == (how == Written::month_first);
    parts[k] = rest.digits(1, 2);
    const bool named = is_month && parts[k] < 0;
    if (named && (parts[k] = rest.month_name()) < 0) return false;
    if (named && how == Written::month_first) rest.skip('.');
    if (k == 0) mark = rest.empty() ? '\0' : *rest.p;
    if (mark != '/' && mark != '-' && mark != '.' && mark != ' ') return false;
    if (k == 1 && mark == ' ') rest.skip(',');
    if (!rest.skip(mark)) return false;
    if (mark == '.') rest.skip_spaces();
  }
  date.year = rest.digits(4);
  date.month = parts[how == Written::day_first], date.day = parts[how == Written::month_first];
  return true;
}

// A time of day and a zone, in microseconds from the beginning of the day.
bool read_clock(Rest& rest, bool iso, int64_t& micros) {
  int64_t hour = rest.digits(iso ? 2 : 1, 2), seconds = 0, fraction = 0;
  const int64_t minute = rest.skip(':') ? rest.digits(2) : -1;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
  if (rest.skip(':')) {
    seconds = rest.digits(2);
    if (seconds < 0 || seconds > 60) return false;  // 60 is a leap second
    if (rest.skip('.') || rest.skip(',')) {
      int n = 0;
      for (; !rest.empty() && is_digit(*rest.p); ++rest.p, ++n)
        if (n < 6) fraction = fraction * 10 + (*rest.p - '0');
      if (n == 0) return false;
      for (; n < 6; ++n) fraction *= 10;
    }
  }
  rest.skip_spaces();
  if (!iso && rest.end - rest.p >= 2 && (rest.p[1] | 0x20) == 'm') {
    const char half = char(rest.p[0] | 0x20);
    if ((half != 'a' && half != 'p') || hour < 1 || hour > 12) return false;
    hour = hour % 12 + (half == 'p' ? 12 : 0);
    rest.p += 2;
    rest.skip_spaces();
  }
  seconds += hour * 3600 + minute * 60;
  if (std::string_view(rest.p, size_t(rest.end - rest.p)) == "UTC") rest.p = rest.end;
  if (!rest.skip('Z') && !rest.empty()) {
    const int sign = *rest.p == '-' ? -1 : 1;
    if (!rest.skip('+') && !rest.skip('-')) return false;
    const int64_t hours = rest.digits(2);
    rest.skip(':');
    const int64_t minutes = rest.empty() ? 0 : rest.digits(2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
    seconds -= sign * (hours * 3600 + minutes * 60);
  }
  micros = seconds * 1000000 + fraction;
  return rest.empty();
}

double micros_of(Written unit) {
  return unit == Written::seconds ? 1e6 : unit == Written::millis ? 1e3 : unit == Written::micros ? 1 : 1e-3;
}

// The bytes of a thousands mark at this position; 0 if there is none.
size_t group_mark(std::string_view text, size_t at, char mark) {
  const std::string_view rest = text.substr(at);
  if (rest.empty()) return 0;
  if (rest[0] == mark || rest[0] == '\'' || rest[0] == ' ') return 1;
  if (rest.starts_with("\xc2\xa0")) return 2;                                           // a space that does not break
  return rest.starts_with("\xe2\x80\xaf") || rest.starts_with("\xe2\x80\x99") ? 3 : 0;  // a narrow one, an apostrophe
}

// The text without a currency before the number, or a currency or per cent sign after it.
std::string_view without_units(std::string_view text) {
  constexpr std::array<std::string_view, 5> units = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "%"};
  constexpr std::array<std::string_view, 3> spaces = {" ", "\xc2\xa0", "\xe2\x80\xaf"};
  for (const std::string_view unit : units) {
    if (text.starts_with(unit) && unit != "%") {
      text.remove_prefix(unit.size());
      for (const std::string_view space : spaces)
        if (text.starts_with(space)) return text.substr(space.size());
      return text;
    }
    if (text.ends_with(unit)) {
      text.remove_suffix(unit.size());
      for (const std::string_view space : spaces)
        if (text.ends_with(space)) return text.substr(0, text.size() - space.size());
      return text;
    }
  }
  return text;
}

}  // namespace

Reading number_of(std::string_view text, Written how, double& value) {
  if (how == Written::plain) return number_of(text, value);
  if (text.size() > kLongestNumber) return Reading::none;
  const char decimal = how == Written::comma ? ',' : '.', group = how == Written::comma ? '.' : ',';
  const bool begins_with_sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  std::string plain(text.substr(0, begins_with_sign));
  text = without_units(text.substr(plain.size()));
  size_t at = 0;
  if (!begins_with_sign && !text.empty() && (text[0] == '-' || text[0] == '+')) plain += text[at++];
  const size_t first = at;
  while (at < text.size() && is_digit(text[at])) plain += text[at++];
  std::string_view mark;
  while (const size_t n = group_mark(text, at, group)) {
    if (mark.empty()) {
      if (at - first < 1 || at - first > 3 || text[first] == '0') return Reading::none;
      mark = text.substr(at, n);
    }
    if (text.substr(at, n) != mark) return Reading::none;
    at += n;
    size_t k = 0;
    for (; k < 3 && at < text.size() && is_digit(text[at]); ++k) plain += text[at++];
    if (k < 3 || (at < text.size() && is_digit(text[at]))) return Reading::none;
  }
  if (at < text.size() && text[at] == decimal) plain += '.', ++at;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' || text[at] == ',') return Reading::none;
    plain += text[at];
  }
  return number_of(plain, value);
}

bool read_time(std::string_view text, Written how, int64_t& micros, bool& has_hours) {
  if (how >= Written::seconds) {
    double number = 0;
    return number_of(text, number) == Reading::ok && read_time(number, how, micros, has_hours);
  }
  Rest rest{text.data(), text.data() + text.size()};
  Date date;
  const bool iso = how == Written::plain;
  if (how == Written::compact) {
    if (text.size() != 8) return false;
    date.year = rest.digits(4), date.month = rest.digits(2), date.day = rest.digits(2);
  } else if (!(iso ? read_iso_date(rest, date) : read_other_date(rest, how, date))) {
    return false;
  }
  if (!is_date(date.year, date.month, date.day)) return false;
  int64_t of_day = 0;
  has_hours = !rest.empty();
  if (has_hours) {
    if (!iso && rest.skip(',')) {
      if (!rest.skip(' ')) return false;
    } else if (!rest.skip('T') && !rest.skip(' ') && (iso || !rest.skip(':'))) {
      return false;
    }
    if (!read_clock(rest, iso, of_day)) return false;
  }
  micros = days_of(date.year, date.month, date.day) * kMicrosOfDay + of_day;
  return true;
}

bool read_time(double number, Written how, int64_t& micros, bool& has_hours) {
  if (how == Written::compact) return read_time(number_text(number), how, micros, has_hours);
  if (how < Written::seconds) return false;
  const double found = std::floor(number * micros_of(how));
  if (!(std::fabs(found) < kFarthest)) return false;
  micros = int64_t(found);
  has_hours = micros % kMicrosOfDay != 0;
  return true;
}

const char* example_of(Written how, bool is_time) {
  switch (how) {
    case Written::comma:
      return "a number such as 1.234,5";
    case Written::grouped:
      return "a number such as 1,234.5";
    case Written::day_first:
      return "a time such as 29.02.2024 17:30";
    case Written::month_first:
      return "a time such as 2/29/2024 5:30 PM";
    case Written::compact:
      return "a date such as 20240229";
    case Written::plain:
      return is_time ? "a time such as 2024-02-29T17:30:00Z" : "a number";
    default:
      return "a number of units since 1970";
  }
}

std::string time_text(int64_t micros) {
  int64_t days = micros / kMicrosOfDay, rest = micros % kMicrosOfDay;
  if (rest < 0) rest += kMicrosOfDay, --days;
  int64_t year = 1970 + days / 366 - 2;
  while (days_of(year + 1, 1, 1) <= days) ++year;
  int64_t month = 1;
  while (month < 12 && days_of(year, month + 1, 1) <= days) ++month;
  const int64_t day = days - days_of(year, month, 1) + 1;
  char buffer[64];
  const auto two = [](int64_t n) { return int(n); };
  std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02dT%02d:%02d:%02d", two(year), two(month), two(day),
                two(rest / 3600000000), two(rest / 60000000 % 60), two(rest / 1000000 % 60));
  return buffer;
}

}  // namespace sureline::text
