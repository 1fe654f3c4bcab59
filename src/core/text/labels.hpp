// Labels as they are written, numbered in the order of their appearance.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "number.hpp"

namespace sureline::text {

class Labels {
 public:
  explicit Labels(std::vector<std::string>& names) : names_(names) {}

  // Of a label in a text that goes on until text_end.
  int32_t code(const char* begin, const char* end, const char* text_end) {
    const int64_t length = end - begin;
    if (length > 7 || text_end - begin < 8) return look_up({begin, size_t(length)});
    // Short labels are their own keys, and recent ones are cached.
    const uint64_t key = (load_eight(begin) & ((uint64_t{1} << (8 * length)) - 1)) | uint64_t(length) << 56;
    Recent& recent = recent_[(key * 0x9E3779B97F4A7C15) >> 58];
    if (recent.key != key) recent = {key, look_up({begin, size_t(length)})};
    return recent.code;
  }

 private:
  struct Recent {
    uint64_t key = 0;
    int32_t code = 0;
  };

  // A tree, not a hash table: no choice of labels can make it slow.
  int32_t look_up(std::string_view label) {
    const auto known = codes_.find(label);
    if (known != codes_.end()) return known->second;
    names_.emplace_back(label);
    return codes_.emplace(label, int32_t(names_.size()) - 1).first->second;
  }

  std::vector<std::string>& names_;
  std::map<std::string, int32_t, std::less<>> codes_;
  std::array<Recent, 64> recent_;
};

}  // namespace sureline::text
