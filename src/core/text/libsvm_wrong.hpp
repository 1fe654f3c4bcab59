// Errors in a line of LIBSVM text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chunk.hpp"
#include "quote.hpp"

namespace sureline::text {

enum class Wrong {
  nothing,
  label,
  carriage_return,
  pair,
  no_index,
  index,
  shifted_index,
  no_value,
  value,
  large_value,
  duplicate,
  large_sum,
  query,
  late_query,
  many_features,
};

// The reason in words. `culprit` is the duplicate index, or the index whose sum is too large.
inline std::string reason_for(Wrong wrong, std::string_view word, int64_t culprit, int64_t shift, int64_t max_features,
                              bool is_float32) {
  const std::string quoted = quote(word), index = quote(word.substr(0, word.find(':')));
  const std::string range = "from 0 to " + std::to_string(kLargestIndex);
  const std::string type = is_float32 ? "float32" : "float64";
  switch (wrong) {
    case Wrong::label:
      return quoted + " is where the label must be";
    case Wrong::carriage_return:
      return "there is a carriage return in the middle of the line";
    case Wrong::pair:
      return quoted + " is not a pair index:value";
    case Wrong::no_index:
      return quoted + " has no index before the colon";
    case Wrong::index:
      return "the index " + index + " is not a whole number " + range;
    case Wrong::shifted_index:
      return "the index " + index + " shifted by " + std::to_string(shift) + " is not " + range;
    case Wrong::no_value:
      return "there is no value after the colon";
    case Wrong::value:
      return "the value " + quoted + " is not a finite number";
    case Wrong::large_value:
      return "the value " + quoted + " is too large for " + type;
    case Wrong::duplicate:
      return "the index " + std::to_string(culprit) + " comes twice in the row";
    case Wrong::large_sum:
      return "the values of the index " + std::to_string(culprit) + " add up to more than " + type + " can hold";
    case Wrong::query:
      return quoted + " is not qid: and a whole number";
    case Wrong::late_query:
      return quoted + " does not come right after the label";
    case Wrong::many_features:
      return "the row has more than " + std::to_string(max_features) + " features (max_features)";
    case Wrong::nothing:
      break;
  }
  return {};
}

}  // namespace sureline::text
