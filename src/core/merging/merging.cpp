#include "merging/merging.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "spaces/diagonal.hpp"

namespace sureline {

MergedNumbers merged_numbers(Shape shape, bool sums) {
  const Merged first = sums ? Merged::sum : Merged::mean;
  switch (shape) {
    case Shape::identity:
    case Shape::full:
    case Shape::averaged:
    case Shape::confident_full:
      return {1, {first}};
    case Shape::diagonal:
    case Shape::theta:
    case Shape::confident:
      return {2, {first, Merged::precision}};
    case Shape::adaptive:
    case Shape::proximal:
      return {2, {first, Merged::root}};
    case Shape::truncated:
      return {2, {first, Merged::cut}};
    case Shape::adaptive_truncated:
      return {3, {first, Merged::root, Merged::cut}};
    default:
      return {};
  }
}

namespace {

// What is not a number stays so, and is refused when the model is looked at.
double at_least(double x, double least) { return x < least ? least : x; }

// Places are merged a window at a time, whose sums stay in the cache. What a shard adds goes to its own place, so no
// shard is searched for the places of another.
template <class T>
class Merger {
 public:
  explicit Merger(const MergeTask& task)
      : task_(task),
        weights_(static_cast<T*>(task.model.weights)),
        width_(task.numbers.n),
        truncated_(task.numbers.kinds[width_ - 1] == Merged::cut),
        at_(task.changes.size()),
        sums_(size_t(kWindow * width_)),
        covered_(size_t(kWindow)) {}

  void run() {
    for (int64_t begin = next(); begin < kEnd; begin = next()) {
      for (size_t k = 0; k < at_.size(); ++k) add(task_.changes[k], at_[k], begin);
      put(begin);
    }
  }

 private:
  static constexpr int64_t kWindow = 1 << 13, kEnd = std::numeric_limits<int64_t>::max();
  struct Covered {  // of a place: shares and parts of the shards that changed it, added up
    double share = 0, part = 0;
  };

  // The first place that is not merged yet.
  int64_t next() const {
    int64_t least = kEnd;
    for (size_t k = 0; k < at_.size(); ++k)
      if (at_[k] < task_.changes[k].places.size()) least = std::min(least, task_.changes[k].places[at_[k]]);
    return least;
  }

  void add(const ShardChange& change, size_t& at, int64_t begin) {
    const int64_t* const places = change.places.data();
    const size_t n = change.places.size();
    size_t stop = at;
    for (; stop < n && places[stop] - begin < kWindow; ++stop) {
      const size_t here = size_t(places[stop] - begin);
      marks_[here / 64] |= uint64_t(1) << here % 64;
      marked_[here / 4096] |= uint64_t(1) << here / 64 % 64;
      covered_[here].share += change.share;
      covered_[here].part += change.part;
    }
    for (int j = 0; j < width_; ++j) {
      const T* number = static_cast<const T*>(change.numbers) + at * width_ + j;
      double* const sums = sums_.data() + j;
      const auto each = [&](const auto& addend) {
        for (size_t i = at; i < stop; ++i, number += width_) sums[(places[i] - begin) * width_] += addend(i, *number);
      };
      if (j == 0 && truncated_) {
        const double unit = task_.model.shape == Shape::adaptive_truncated ? std::sqrt(change.part) : 1;
        each([&](size_t i, const T& x) {
          const double cut = double(T(change.cuts[size_t(problem_of(places[i]))]));
          return change.share * settled(&x, cut, places[i], unit);
        });
        continue;
      }
      switch (task_.numbers.kinds[j]) {
        case Merged::mean:
          each([&](size_t, T x) { return double(x) * change.share; });
          break;
        case Merged::sum:
          each([&](size_t, T x) { return double(x); });
          break;
        case Merged::precision:
          each([&](size_t, T x) { return change.part / double(plain::flip_one(x)); });
          break;
        case Merged::root:
          each([&](size_t, T x) { return double(x) * double(x); });
          break;
        case Merged::cut:
          break;  // that of the merged model is the same everywhere
      }
    }
    at = stop;
  }

  // Of the places of a window that some shard changed. The sums are zero again then.
  void put(int64_t begin) {
    for (size_t group = 0; group < marked_.size(); ++group)
      for (uint64_t& words = marked_[group]; words != 0; words &= words - 1) {
        const size_t word = group * 64 + size_t(std::countr_zero(words));
        for (uint64_t& bits = marks_[word]; bits != 0; bits &= bits - 1) {
          const int64_t here = int64_t(word * 64) + std::countr_zero(bits);
          put_one(begin + here, sums_.data() + here * width_, covered_[size_t(here)]);
          std::fill_n(sums_.data() + here * width_, width_, 0.0);
          covered_[size_t(here)] = {};
        }
      }
  }

  void put_one(int64_t place, const double* sums, const Covered& covered) {
    const double rest = 1 - covered.share, left = 1 - covered.part;  // of the base: among means, and among sums
    T* const p = weights_ + place * width_;
    const double cut = truncated_ ? double(T(task_.memory[problem_of(place)].cut)) : 0;
    const double first = truncated_ ? settled(p, cut, place, 1) : double(p[0]);
    for (int j = 0; j < width_; ++j) {
      const double x = j == 0 ? first : double(p[j]);
      switch (task_.numbers.kinds[j]) {
        case Merged::mean:
          p[j] = T(sums[j] + rest * x);
          break;
        case Merged::sum:
          p[j] = T(sums[j] + left * x);
          break;
        case Merged::precision: {
          const double precision = 1 / double(plain::flip_one(p[j]));
          const double variance = 1 / at_least(sums[j] + left * precision, precision);  // no row makes them less
          p[j] = plain::flip_one(T(at_least(variance, double(std::numeric_limits<T>::min()))));
          break;
        }
        case Merged::root:
          p[j] = T(std::sqrt(at_least(sums[j] + left * (x * x), 0)));
          break;
        case Merged::cut:
          p[j] = T(cut);
          break;
      }
    }
  }

  // The weight with the truncation up to `cut` that it still owes; `unit` is that of a shard, in which Ada-FOBOS
  // counts.
  double settled(const T* p, double cut, int64_t place, double unit) const {
    const double w = double(p[0]), size = std::fabs(w);
    const Round& round = task_.rounds[problem_of(place)];
    double owed = at_least(cut - double(p[width_ - 1]), 0);
    if (task_.model.shape == Shape::adaptive_truncated)
      owed /= round.delta * unit + double(p[1]);
    else if (size > round.limit)
      owed = 0;
    if (place < task_.model.n_heads) owed = 0;  // no penalty shrinks an intercept
    const double sign = w > 0 ? 1 : w < 0 ? -1 : 0;
    return sign * at_least(size - owed, 0);
  }

  int64_t problem_of(int64_t place) const { return task_.n_problems > 1 ? place % task_.model.n_heads : 0; }

  const MergeTask& task_;
  T* const weights_;
  const int64_t width_;
  const bool truncated_;
  std::vector<size_t> at_;  // of each change the first place that is not added yet
  std::vector<double> sums_;
  std::vector<Covered> covered_;
  std::array<uint64_t, kWindow / 64> marks_ = {};     // a bit for each place with a sum
  std::array<uint64_t, kWindow / 4096> marked_ = {};  // a bit for each word of them
};

}  // namespace

template <class T>
void merge_changes(const MergeTask& task) {
  Merger<T>(task).run();
}

template void merge_changes<float>(const MergeTask& task);
template void merge_changes<double>(const MergeTask& task);

}  // namespace sureline
