// Numbers and times in the ways in which people and programs write them.
//
// How the cells of a column are written is found once, from the first rows. A cell that is written otherwise is
// refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cells.hpp"

namespace sureline::text {

enum class Written : uint8_t {
  plain,        // 1234.5; 2024-02-29T17:30:00Z
  comma,        // 1.234,5
  grouped,      // 1,234.5
  day_first,    // 29.02.2024 17:30, 29-Feb-2024
  month_first,  // 2/29/2024 5:30 PM, Feb 29, 2024
  compact,      // 20240229
  seconds,      // 1709227800, since 1970 began
  millis,
  micros,
  nanos,
};
constexpr bool is_of_number(Written how) { return how <= Written::grouped; }
constexpr bool is_of_time(Written how) { return how == Written::plain || how >= Written::day_first; }

// A number that is written so. Thousands may be grouped by the other mark, by an apostrophe or by a space. If it is not
// plain, a sign of a currency or of per cent may stand beside it: what is left without it is the number.
Reading number_of(std::string_view trimmed, Written how, double& value);

// A time that is written so. Plain is a date of ISO 8601, or one with slashes or points, with or without a time of day
// (T or a space, 17:30, 17:30:59, 17:30:59.25) and a zone (Z, +02:00, +0200), which is subtracted. Days are those of
// the Gregorian calendar. `has_hours` says whether there is a time of day.
bool read_time(std::string_view trimmed, Written how, int64_t& micros, bool& has_hours);
// The same for a number: in one of the units since 1970, or the digits of a compact date.
bool read_time(double number, Written how, int64_t& micros, bool& has_hours);
std::string time_text(int64_t micros);  // the time in a uniform notation
const char* example_of(Written how, bool is_time);

}  // namespace sureline::text
