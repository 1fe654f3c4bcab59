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
//
// Beside it are guards: for each of some levels of error the |score| from which on answers were wrong no more often, as
// it follows a stream that changes (adaptive conformal inference, Gibbs and Candes 2021). An answer from there on that
// is wrong raises it, one that is right lowers it, such that both balance at the level. So the sum of (wrong - level)
// over those answers is at most the range of the guard over the size of a step, whatever the stream does.
#pragma once

#include <algorithm>
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
inline constexpr int kGuards = kCells + kScoreBins * kStdBins * 2;
inline constexpr int kLevels = 16, kLowestLevel = -9;  // of the guards, in half octaves: from 2^-9 to 2^-1.5
inline constexpr int kSize = kGuards + kLevels;        // numbers
inline constexpr int64_t kAllBelow = 1 << 14, kInAnOctave = kAllBelow / 2;

static_assert(kSize * sizeof(double) <= 64 << 10);

// After t rows, one row of this many is recorded.
inline int64_t step_after(int64_t t) { return t < kAllBelow ? 1 : int64_t(std::bit_floor(uint64_t(t / kInAnOctave))); }

inline int clamped(int64_t bin, int n) { return bin < 0 ? 0 : bin >= n ? n - 1 : int(bin); }

// Rises with the score. A score of 0 is negative, as in predictions.
inline int score_bin(double score) {
  const uint64_t bits = std::bit_cast<uint64_t>(score) & ~(uint64_t(1) << 63);
  const int bin = clamped(int64_t(bits >> 50) - (int64_t(1023 + kLowestScore) << 2), kMagnitudes);
  return score > 0 ? kMagnitudes + bin : kMagnitudes - 1 - bin;
}

// The octave of the standard deviation, from a variance v >= 0.
inline int std_bin(double v) {
  const int64_t exponent = int64_t(std::bit_cast<uint64_t>(v) >> 52) - 1023;
  return clamped((exponent >> 1) - kLowestStd, kStdBins);
}

// The size of a score on a scale that rises by 1 in each octave, and linearly within one; 0 at 2^-12 and below.
inline double octaves(double score) {
  const uint64_t bits = std::bit_cast<uint64_t>(score) & ~(uint64_t(1) << 63);
  return std::clamp(double(bits) * 0x1p-52 - (1023 + kLowestScore), 0.0, double(kScoreOctaves));
}

// The guards count what is wrong beyond 1.25 times the level, so that they are below what the record itself says as
// long as a stream does not change. Where all answers are below a guard, it sinks slowly, to look again.
struct Steps {
  double up[kLevels], down[kLevels], sink[kLevels];
};
inline constexpr Steps steps_of_guards() {
  constexpr double kStep = 0.25, kSlack = 1.25, kSink = 0x1p-6, kRootOf2 = 1.4142135623730951;
  Steps steps{};
  double octave = 1;
  for (int i = 0; i > kLowestLevel; --i) octave /= 2;
  for (int i = 0; i < kLevels; ++i, octave *= i % 2 ? 1 : 2) {
    const double level = kSlack * octave * (i % 2 ? kRootOf2 : 1);
    steps.up[i] = kStep * (1 - level);
    steps.down[i] = kStep * level;
    steps.sink[i] = kStep * level * kSink;
  }
  return steps;
}

}  // namespace record

// The additions of a run to a record, which are merged only if the run succeeds.
class Recorder {
 public:
  // Begins a run after the record's rows.
  void begin(const double* numbers) {
    seen_ = int64_t(numbers[record::kRows]);
    step_ = record::step_after(seen_);
    std::copy_n(numbers + record::kGuards, record::kLevels, guards_);
    entries_.clear();
    logs_.clear();
  }
  // Counts a row. True if the row is to be recorded.
  bool next() {
    const int64_t t = seen_++;
    if (t >= record::kAllBelow && (t & (t - 1)) == 0) step_ = record::step_after(t);
    if (t & (step_ - 1)) return false;
    weight_ = double(t + 1) * double(step_) * importance_;
    return true;
  }
  // Later rows stand for this many rows each, if only some labels are asked for.
  void stand_for(double rows) { importance_ = rows; }
  // A score, its variance (0 if unknown), whether the label was the second one, and the sample weight.
  void add(double score, double v, bool positive, double s) { add(score, v, positive, (score > 0) == positive, s); }
  // Scores of several classes, with the best and the next best.
  void add(const double* scores, int64_t n, int64_t best, int64_t next, double v, int64_t label, double s);

  void commit(double* numbers) const;

 private:
  void add(double score, double v, bool positive, bool right, double s) {
    const int cell = record::score_bin(score) * record::kStdBins + record::std_bin(v);
    entries_.push_back({record::kCells + 2 * cell + int(positive), s * weight_});
    move_guards(record::octaves(score), right, std::min(s * importance_, kLargestStep));
  }
  void move_guards(double size, bool right, double s) {
    static constexpr record::Steps kSteps = record::steps_of_guards();
    constexpr double kTop = record::kScoreOctaves;
    if (right)
      for (int i = 0; i < record::kLevels; ++i)
        guards_[i] = std::max(guards_[i] - s * (size >= guards_[i] ? kSteps.down[i] : kSteps.sink[i]), 0.0);
    else
      for (int i = 0; i < record::kLevels; ++i)
        guards_[i] = std::min(guards_[i] + s * (size >= guards_[i] ? kSteps.up[i] : 0.0), kTop);
  }

  static constexpr double kLargestStep = 4;  // the largest weight of a row, in rows
  struct Entry {
    int at;
    double weight;
  };
  int64_t seen_ = 0, step_ = 1;
  double weight_ = 0, importance_ = 1;
  double guards_[record::kLevels] = {};
  std::vector<Entry> entries_;
  std::vector<double> logs_;  // kTemperatures for each row whose best class was wrong
};

}  // namespace sureline
