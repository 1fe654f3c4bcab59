// Quotes input for a message.
#pragma once

#include <string>
#include <string_view>

namespace sureline::text {

// The text in quotes, shortened, with unprintable bytes as \xNN.
inline std::string quote(std::string_view text) {
  constexpr size_t longest = 40;
  constexpr char hexadecimal[] = "0123456789abcdef";
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte <= '~')
      result += c;
    else
      result += {'\\', 'x', hexadecimal[byte >> 4], hexadecimal[byte & 15]};
  }
  return result + (text.size() > longest ? "...'" : "'");
}

}  // namespace sureline::text
