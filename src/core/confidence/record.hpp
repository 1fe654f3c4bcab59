// The record of predictions that preceded their labels, from which confidences are calibrated
// (docs/guide/confidence.md).
//
// It counts scores by the label that came: weights of outcomes in cells of a grid of the score and its standard
// deviation. The grid is one of exponents, so that no scale has to be known in advance. With two classes the score is
// that of the second class, and the outcome whether that came. With more it is the margin of the best class over the
// next, and the outcome whether the best one came.
//
// The row after t others counts t + 1 times, so that later predictions count more, and two records add up. All of the
// first 2^14 rows are recorded, then one of 2, 4, 8, ... with so many times the weight, 2^13 rows in each octave of t.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace sureline {

namespace record {

inline constexpr int kScoreOctaves = 28, kLowestScore = -12, kInOctave = 4;  // |score| from 2^-12 to 2^16
inline constexpr int kMagnitudes = kScoreOctaves * kInOctave, kScoreBins = 2 * kMagnitudes;
inline constexpr int kStdBins = 18, kLowestStd = -11;                  // octaves from 2^-11 to 2^7
inline constexpr int kTemperatures = 25, kLowestTemperature = -10;     // 2^-10 to 2^14
inline constexpr int kRows = 0, kSquares = 1, kLogs = 2, kCells = 32;  // where the numbers are
inline constexpr int kSize = kCells + kScoreBins * kStdBins * 2;       // numbers
inline constexpr int64_t kAllBelow = 1 << 14, kInAnOctave = kAllBelow / 2;

static_assert(kSize * sizeof(double) <= 64 << 10);

// One row of so many is recorded after t others.
inline int64_t step_after(int64_t t) { return t < kAllBelow ? 1 : int64_t(std::bit_floor(uint64_t(t / kInAnOctave))); }

inline int clamped(int64_t bin, int n) { return bin < 0 ? 0 : bin >= n ? n - 1 : int(bin); }

// Rises with the score. 0 is of the negative side, as it is in a prediction.
inline int score_bin(double score) {
  const uint64_t bits = std::bit_cast<uint64_t>(score) & ~(uint64_t(1) << 63);
  const int bin = clamped(int64_t(bits >> 50) - (int64_t(1023 + kLowestScore) << 2), kMagnitudes);
  return score > 0 ? kMagnitudes + bin : kMagnitudes - 1 - bin;
}

// Of a variance, which is not negative: the octave of its root.
inline int std_bin(double v) {
  const int64_t exponent = int64_t(std::bit_cast<uint64_t>(v) >> 52) - 1023;
  return clamped((exponent >> 1) - kLowestStd, kStdBins);
}

}  // namespace record

// What a run adds to a record, which takes it in only once all has gone well.
class Recorder {
 public:
  // For a run whose first row comes after those of the record.
  void begin(const double* numbers) {
    seen_ = int64_t(numbers[record::kRows]);
    step_ = record::step_after(seen_);
    entries_.clear();
    logs_.clear();
  }
  // Count a row. True if it is one to record.
  bool next() {
    const int64_t t = seen_++;
    if (t >= record::kAllBelow && (t & (t - 1)) == 0) step_ = record::step_after(t);
    if (t & (step_ - 1)) return false;
    weight_ = double(t + 1) * double(step_);
    return true;
  }
  // Its score and variance, whether its label was the second one, and its sample weight. A variance of 0 is none.
  void add(double score, double v, bool positive, double s) {
    const int cell = record::score_bin(score) * record::kStdBins + record::std_bin(v);
    entries_.push_back({record::kCells + 2 * cell + int(positive), s * weight_});
  }
  // Its scores of more classes, of which `best` is the highest and `next` the highest of the others.
  void add(const double* scores, int64_t n, int64_t best, int64_t next, double v, int64_t label, double s);

  void commit(double* numbers) const;

 private:
  struct Entry {
    int at;
    double weight;
  };
  int64_t seen_ = 0, step_ = 1;
  double weight_ = 0;
  std::vector<Entry> entries_;
  std::vector<double> logs_;  // kTemperatures for each row whose best class was wrong
};

}  // namespace sureline
