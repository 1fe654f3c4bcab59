// Three ways to read a pair, each for what the one before it leaves: read_plain_pairs, many ordinary ones as fast as
// possible; read_pair, one of any kind; and refuse, which says what is wrong with it.
#include "libsvm.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>

#include "digits.hpp"
#include "labels.hpp"
#include "libsvm_wrong.hpp"
#include "number.hpp"

namespace sureline::text {
namespace {

constexpr int64_t kAtOnce = 2 << 20;  // initial room for pairs and for rows

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool ends_word(char c) { return is_blank(c) || c == '\n' || c == '\r' || c == '#'; }

template <class Scalar>
class Parser {
 public:
  explicit Parser(const Options& options)
      : options_(options),
        // A larger shift leaves no index in range either, and this one cannot overflow.
        shift_(std::clamp(options.shift, -kLargestIndex - 1, kLargestIndex + 1)),
        labels_(chunk_.label_names) {}

  Chunk<Scalar> parse(Pieces& block) {
    // A pair takes at least four bytes: "1:1" and the blank before it, for there is a label before that.
    // A block of many megabytes is one line, whose pairs may not be more than those of a row.
    const int64_t most_pairs = std::min(block.size() / 4, std::max(options_.max_features, kAtOnce)) + 1;
    const int64_t rows = std::min(block.size() / 64, kAtOnce) + 1;
    chunk_.indices.allocate(most_pairs);
    chunk_.values.allocate(most_pairs);
    chunk_.labels.allocate(rows);
    chunk_.starts.allocate(rows + 1);
    chunk_.starts.push(0);

    for (std::string_view piece = block.next(); !piece.empty() && read_lines(piece); piece = block.next()) {
    }
    chunk_.indices.resize(chunk_.starts.end()[-1]);
    chunk_.values.resize(chunk_.starts.end()[-1]);
    return std::move(chunk_);
  }

 private:
  // False if it stopped at a fault.
  bool read_lines(std::string_view piece) {
    begin_ = piece.data(), end_ = begin_ + piece.size();
    const char* p = begin_;
    while (p != end_) {
      line_ = p;
      ++chunk_.n_lines;
      if (chunk_.n_lines == 1 && options_.first_block && piece.starts_with("\xEF\xBB\xBF")) p += 3;
      const Wrong wrong = read_line(p);
      if (wrong != Wrong::nothing) {
        refuse(wrong, p);
        if (!options_.skip_faults) return false;
      }
      p = static_cast<const char*>(std::memchr(p, '\n', size_t(end_ - p)));
      if (!p) break;
      ++p;
    }
    return true;
  }

  bool at_line_end(const char* p) const {
    return p == end_ || *p == '\n' || *p == '#' || (*p == '\r' && (p + 1 == end_ || p[1] == '\n'));
  }

  const char* skip_blanks(const char* p) const {
    while (p != end_ && is_blank(*p)) ++p;
    return p;
  }

  const char* word_end(const char* p) const {
    while (p != end_ && !ends_word(*p)) ++p;
    return p;
  }

  // Reads the line from p on, and moves p to where it stopped: after what counts in it, or to what is wrong.
  Wrong read_line(const char*& p) {
    p = skip_blanks(p);
    if (at_line_end(p)) return Wrong::nothing;  // no row
    const char* const label = p;
    while (p != end_ && *p != ':' && !ends_word(*p)) ++p;
    const char* const label_end = p;
    if (label == label_end && *p == '\r') return Wrong::carriage_return;
    if (label == label_end || (p != end_ && *p == ':')) return p = label, Wrong::label;

    const int64_t start = chunk_.starts.end()[-1];
    n_ = start;
    make_room(p);
    previous_ = -1;
    ascending_ = true;
    Wrong wrong = read_query(p);
    pairs_ = p;
    while (wrong == Wrong::nothing) {
      if (p - begin_ >= 8 && p != end_ && is_blank(*p)) {
        do p = read_plain_pairs(p);
        while (learn_index(p));
      }
      p = skip_blanks(p);
      if (at_line_end(p)) break;
      wrong = n_ - start < options_.max_features ? read_pair(p) : Wrong::many_features;
    }
    if (wrong == Wrong::nothing && !ascending_) wrong = sort_row();
    if (wrong != Wrong::nothing) return wrong;

    if (n_ != start) chunk_.n_columns = std::max(chunk_.n_columns, int64_t{chunk_.indices.data()[n_ - 1]} + 1);
    if (chunk_.labels.size() == chunk_.labels.capacity()) chunk_.labels.grow(), chunk_.starts.grow();
    chunk_.labels.push(labels_.code(label, label_end, end_));
    chunk_.starts.push(int32_t(n_));
    return Wrong::nothing;
  }

  // Room for the pairs of a row that begins at p. Each takes four bytes at least.
  void make_room(const char* p) {
    const int64_t wanted = n_ + std::min(options_.max_features, (end_ - p) / 4) + 1;
    while (chunk_.indices.capacity() < wanted) [[unlikely]] {
      chunk_.indices.resize(n_), chunk_.values.resize(n_);
      chunk_.indices.grow(), chunk_.values.grow();
    }
  }

  // qid:N, the query of a ranking task, which is skipped.
  Wrong read_query(const char*& p) const {
    const char* const word = skip_blanks(p);
    if (!std::string_view(word, end_).starts_with("qid:")) return Wrong::nothing;
    const char* q = word + 4;
    if (q != end_ && (*q == '-' || *q == '+')) ++q;
    const char* const digits = q;
    while (q != end_ && is_digit(*q)) ++q;
    const bool right = q != digits && (q == end_ || ends_word(*q));
    p = right ? q : word;
    return right ? Wrong::nothing : Wrong::query;
  }

  // Pairs of an index of n_index_ digits and a value of at most eight, with n_whole_ before its point if it has one;
  // both numbers seldom change from one pair to the next. After each there is a blank or the end of the line. p is at
  // the blank before the first, eight characters or more after the beginning of the piece. Returns where it stopped: at
  // the end of the line, or at the blank before a pair that is different.
  [[gnu::noinline]] const char* read_plain_pairs(const char* p) {
    // Indexed by twice the number of decimals, plus one for negative values.
    static constexpr double divisors[] = {1e0,  -1e0, 1e1,  -1e1, 1e2,  -1e2, 1e3,  -1e3, 1e4,
                                          -1e4, 1e5,  -1e5, 1e6,  -1e6, 1e7,  -1e7, 1e8,  -1e8};
    constexpr int furthest = 34;  // is looked at from p
    if (end_ - p < furthest) return p;
    // As each pair takes four bytes, the row stays within its limit.
    const int64_t left = options_.max_features - (n_ - chunk_.starts.end()[-1]);
    const char* const last = std::min<int64_t>(end_ - furthest - p, 4 * (left - 1)) + p;
    int32_t* index_to = chunk_.indices.data() + n_;
    Scalar* value_to = chunk_.values.data() + n_;
    int32_t previous = int32_t(previous_),
            order = -1;                       // negative as long as indices ascend strictly
    const uint32_t shift = uint32_t(shift_);  // modulo 2^32, which makes negative indices too large
    const uint64_t n_index = n_index_, n_whole = n_whole_;
    const uint64_t index_mask = kLast[n_index], index_zeros = kLastZeros[n_index];
    while (p <= last) {
      const char* const colon = p + 1 + n_index;
      if (*colon != ':') break;
      const uint64_t index_digits = (load_eight(colon - 8) & index_mask) ^ index_zeros;
      const char* stop = colon + 2;
      uint64_t digits, divisor = 0;
      if (static_cast<unsigned char>(*stop) <= ' ') {  // a single digit, as in binary rows
        digits = uint64_t(static_cast<unsigned char>(colon[1] ^ '0')) << 56;
      } else {
        stop = colon + 3 + find_stop(colon + 3);
        divisor = colon[1] == '-';
        uint64_t n_digits = uint64_t(stop - colon) - 1 - divisor;
        if (colon[1 + divisor + n_whole] == '.') [[likely]] {
          --n_digits;
          const uint64_t n_fraction = n_digits - n_whole;
          if (n_digits - 1 >= 8 || n_fraction >= 9) break;
          // The decimals, with the digits before the point moved next to them.
          digits = load_eight(stop - 9);
          digits ^= (load_eight(stop - 8) ^ digits) & kLast[n_fraction];
          divisor += 2 * n_fraction;
        } else {
          if (n_digits - 1 >= 8) break;
          digits = load_eight(stop - 8);
        }
        digits = (digits & kLast[n_digits]) ^ kLastZeros[n_digits];
      }
      if (!are_digits(index_digits, digits)) break;
      const auto [unshifted, mantissa] = join_two(index_digits, digits);
      const uint32_t index = uint32_t(unshifted) + shift;
      if (index > uint32_t(kLargestIndex)) break;
      const char delimiter = *stop;
      if (delimiter != ' ') [[unlikely]] {
        if (delimiter != '\n' && delimiter != '\t') break;
      }
      order &= previous - int32_t(index);
      previous = int32_t(index);
      *index_to++ = int32_t(index);
      *value_to++ = Scalar(mantissa / divisors[divisor]);  // exact integers of at most 27 bits: one rounding
      p = stop;
      if (delimiter == '\n') break;
    }
    n_ = index_to - chunk_.indices.data();
    previous_ = previous;
    ascending_ &= order < 0;
    return p;
  }

  // True if p is at a blank and the index after it has another number of digits than the last one. Remembers it.
  bool learn_index(const char* p) {
    if (end_ - p < 10 || !is_blank(*p)) return false;
    const uint64_t n = uint64_t(std::countr_zero(find_nondigit(load_eight(p + 1)))) / 8;
    if (n == 0 || n == n_index_ || p[1 + n] != ':') return false;
    n_index_ = n;
    return true;
  }

  // Any pair. p is at its first character, and after it if nothing is wrong.
  Wrong read_pair(const char*& p) {
    uint64_t index = 0;
    const char* const word = p;
    const char* const colon = append_digits(word, end_, index);
    if (colon == word || colon - word > 10 || colon == end_ || *colon != ':') return read_odd_pair(p);
    const Number number = read_number(colon + 1, end_);
    const char* const stop = number.end;
    const Scalar value = Scalar(number.value);
    if (number.state != Number::ok || std::isinf(value) || (stop != end_ && !ends_word(*stop))) return read_odd_pair(p);
    if (index > uint64_t(kLargestIndex)) return Wrong::index;
    const int64_t shifted = int64_t(index) + shift_;
    if (shifted < 0 || shifted > kLargestIndex) return Wrong::shifted_index;

    const char* const first = colon + 1 + (colon[1] == '-');
    const char* const point = std::find(first, std::min(stop, first + 8), '.');
    if (point != stop && *point == '.') n_whole_ = uint64_t(point - first);
    p = stop;
    append(shifted, value);
    return Wrong::nothing;
  }

  // A pair with something wrong, or an index that begins with many zeros.
  Wrong read_odd_pair(const char*& p) {
    if (*p == '\r') return Wrong::carriage_return;
    const char* const stop = word_end(p);
    const char* const colon = std::find(p, stop, ':');
    if (colon == stop) return Wrong::pair;
    if (colon == p) return Wrong::no_index;
    if (std::string_view(p, colon) == "qid") return Wrong::late_query;
    int64_t index = 0;
    for (const char* q = p; q != colon; ++q) {
      if (!is_digit(*q)) return Wrong::index;
      index = index * 10 + (*q - '0');
      if (index > kLargestIndex) return Wrong::index;
    }
    index += shift_;
    if (index < 0 || index > kLargestIndex) return Wrong::shifted_index;
    p = colon + 1;
    if (p == stop) return Wrong::no_value;
    const Number number = read_number(p, stop);
    if (number.state == Number::malformed || number.end != stop) return Wrong::value;
    const Scalar value = Scalar(number.value);
    if (number.state == Number::too_large || std::isinf(value)) return Wrong::large_value;
    p = stop;
    append(index, value);
    return Wrong::nothing;
  }

  void append(int64_t index, Scalar value) {
    ascending_ &= index > previous_;
    previous_ = index;
    chunk_.indices.data()[n_] = int32_t(index);
    chunk_.values.data()[n_++] = value;
  }

  // Sorts the pairs of the row, and sums duplicate indices if wanted.
  Wrong sort_row() {
    const int64_t start = chunk_.starts.end()[-1];
    int32_t* indices = chunk_.indices.data();
    Scalar* values = chunk_.values.data();
    // By index, then as written: the order of a sum must not be left to chance.
    keys_.clear();
    for (int64_t i = start; i < n_; ++i) keys_.push_back(uint64_t(indices[i]) << 32 | uint64_t(i - start));
    std::sort(keys_.begin(), keys_.end());
    values_.assign(values + start, values + n_);
    int64_t to = start;
    for (size_t k = 0; k < keys_.size();) {
      const uint64_t index = keys_[k] >> 32;
      double sum = values_[uint32_t(keys_[k])];
      for (++k; k < keys_.size() && keys_[k] >> 32 == index; ++k) {
        if (!options_.sum_duplicates) return Wrong::duplicate;
        sum += values_[uint32_t(keys_[k])];
      }
      culprit_ = int64_t(index) - shift_;
      if (!std::isfinite(Scalar(sum))) return Wrong::large_sum;
      indices[to] = int32_t(index);
      values[to++] = Scalar(sum);
    }
    n_ = to;
    return Wrong::nothing;
  }

  // The pair of the line in hand, whose pairs are all right, where an index comes a second time; or the first one of
  // the culprit. Leaves its index, as written, to the culprit.
  const char* find_pair(Wrong wrong) {
    std::set<int64_t> seen;
    for (const char* p = pairs_;; p = word_end(p)) {
      p = skip_blanks(p);
      int64_t index = 0;
      for (const char* q = p; *q != ':'; ++q) index = index * 10 + (*q - '0');
      if (wrong == Wrong::large_sum ? index == culprit_ : !seen.insert(index).second) return culprit_ = index, p;
    }
  }

  void refuse(Wrong wrong, const char* at) {
    if (++chunk_.n_faults > options_.max_faults_kept) return;
    if (wrong == Wrong::duplicate || wrong == Wrong::large_sum) at = find_pair(wrong);
    chunk_.faults.push_back({chunk_.n_lines, at - line_ + 1, reason(wrong, at)});
  }

  std::string reason(Wrong wrong, const char* at) const {
    return reason_for(wrong, {at, word_end(at)}, culprit_, shift_, options_.max_features, sizeof(Scalar) == 4);
  }

  const char *begin_ = nullptr, *end_ = nullptr;  // of the piece
  const Options options_;
  const int64_t shift_;
  Chunk<Scalar> chunk_;
  Labels labels_;

  // The row in hand.
  const char *line_ = nullptr, *pairs_ = nullptr;
  int64_t n_ = 0;  // the pairs of the block so far
  int64_t previous_ = -1;
  bool ascending_ = true;
  int64_t culprit_ = 0;
  std::vector<uint64_t> keys_;
  std::vector<Scalar> values_;

  // Of the last pair.
  uint64_t n_index_ = 1, n_whole_ = 1;
};

}  // namespace

template <class Scalar>
Chunk<Scalar> parse_libsvm(Pieces& block, const Options& options) {
  return Parser<Scalar>(options).parse(block);
}

template Chunk<float> parse_libsvm<float>(Pieces&, const Options&);
template Chunk<double> parse_libsvm<double>(Pieces&, const Options&);

}  // namespace sureline::text
