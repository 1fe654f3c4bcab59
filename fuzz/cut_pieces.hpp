// A text in pieces of so many lines. Each is in memory of just its size, so that a look beyond it is seen, and gone
// when the next one is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "text/pieces.hpp"

class CutPieces final : public sureline::text::Pieces {
 public:
  CutPieces(std::string_view text, int n_lines) : rest_(text), size_(int64_t(text.size())), n_lines_(n_lines) {}

  std::string_view next() override {
    size_t end = 0;
    for (int line = 0; line < n_lines_ && end < rest_.size(); ++line) {
      const size_t newline = rest_.find('\n', end);
      end = newline == std::string_view::npos ? rest_.size() : newline + 1;
    }
    copy_.reset(new char[end]);
    rest_.copy(copy_.get(), end);
    rest_.remove_prefix(end);
    return {copy_.get(), end};
  }
  int64_t size() const override { return size_; }

 private:
  std::string_view rest_;
  const int64_t size_;
  const int n_lines_;
  std::unique_ptr<char[]> copy_;
};
