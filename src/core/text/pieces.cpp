#include "pieces.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sureline::text {

std::string_view FilePieces::next() {
  int64_t kept = buffer_.size() - begin_;
  if (kept > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, size_t(kept));
  if (buffer_.capacity() == 0) buffer_.allocate(std::min(kPiece, size_));
  buffer_.resize(kept);
  begin_ = 0;
  while (at_ != end_) {
    if (!fill()) return failed_ = true, std::string_view();
    const std::string_view all(buffer_.data(), size_t(buffer_.size()));
    const size_t newline = all.substr(size_t(kept)).rfind('\n');
    if (newline != std::string_view::npos && at_ != end_) {
      begin_ = kept + int64_t(newline) + 1;
      return all.substr(0, size_t(begin_));
    }
    if (at_ == end_) break;
    kept = buffer_.size();
    buffer_.grow(size_);  // a line longer than a piece
  }
  begin_ = buffer_.size();
  return {buffer_.data(), size_t(begin_)};
}

// Reads as much as there is room for, or as is left.
bool FilePieces::fill() {
  while (at_ != end_ && buffer_.size() != buffer_.capacity()) {
    const int64_t wanted = std::min(buffer_.capacity() - buffer_.size(), end_ - at_);
#if defined(RWF_NOWAIT)
    const iovec room = {buffer_.end(), size_t(wanted)};
    const ssize_t got = preadv2(file_, &room, 1, at_, wait_ ? 0 : RWF_NOWAIT);
#else
    const ssize_t got = wait_ ? pread(file_, buffer_.end(), size_t(wanted), at_) : -1;
#endif
    if (got < 0 && errno == EINTR && wait_) continue;
    if (got <= 0) return false;
    at_ += got;
    buffer_.resize(buffer_.size() + got);
  }
  return true;
}

}  // namespace sureline::text
