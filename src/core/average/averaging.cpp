#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <new>
#include <type_traits>

#include "average/average.hpp"
#include "memory/mapping.hpp"

namespace sureline {

namespace {

constexpr double kLargestGrowth = 0x1p300;
constexpr int64_t kFewRuns = 1024;
// A past that began with weights this much larger than they are now would leave their sum to cancellation.
constexpr double kLargestDecay = 100;

struct Line {
  double slope, level;
  bool cut;  // the threshold counts
};

template <class T>
double variance(const T* p) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return std::bit_cast<T>(Bits(std::bit_cast<Bits>(p[1]) ^ std::bit_cast<Bits>(T(1))));  // as shape.hpp says
}

Line soft_line(double u, bool cut, double slope = 1) {
  return cut ? Line{std::copysign(slope, u), std::fabs(u), true} : Line{slope, u, false};
}

// A past in local memory, so that the compiler knows that writes to sums do not change it.
struct Rounds {
  explicit Rounds(const Average::Past& past) : delta(past.delta), limit(past.limit) {
    if (past.runs.empty()) return;
    runs = past.runs.data(), n = past.runs.size();
    first = runs[0].threshold, last = runs[n - 1].threshold, reach = runs[n - 1].reach, cut = runs[n - 1].cut;
  }
  double delta, limit, first = 0, last = 0, reach = 0, cut = 0;
  const Average::Run* runs = nullptr;
  size_t n = 0;
};

// The weight as a function of threshold and scale; shape.hpp has the formulas.
template <Shape shape, class T>
[[gnu::always_inline]] inline Line line_of(const T* p, bool cut, const Rounds& rounds) {
  const double w = p[0];
  if constexpr (shape == Shape::identity || shape == Shape::diagonal || shape == Shape::full) return {1, w, false};
  if constexpr (shape == Shape::theta) return {1, w * variance(p), false};
  if constexpr (shape == Shape::averaged) return soft_line(w, cut);
  if constexpr (shape == Shape::confident) return soft_line(w * variance(p), cut);
  if constexpr (shape == Shape::adaptive || shape == Shape::proximal)
    return soft_line(w, cut, 1 / (rounds.delta + double(p[1])));
  if constexpr (shape == Shape::truncated) {
    if (!cut || std::fabs(w) > rounds.limit) return {1, w, false};
    return {w == 0 ? 0.0 : std::copysign(1.0, w), double(p[1]) + std::fabs(w), true};
  }
  if constexpr (shape == Shape::adaptive_truncated) {
    const double H = rounds.delta + double(p[1]);
    if (!cut) return {1, w, false};
    return {w == 0 ? 0.0 : std::copysign(1 / H, w), double(p[2]) + std::fabs(w) * H, true};
  }
  return {0, 0, false};
}

// The value of a line in the first or the last of the rounds.
[[gnu::noinline]] double sum_over_some(const Rounds& rounds, const Line& line) {
  using Run = Average::Run;
  const Run *begin = rounds.runs, *end = begin + rounds.n;
  if (rounds.first < rounds.last) {  // the thresholds rise: the first rounds
    const Run* last = std::partition_point(begin, end, [&](const Run& run) { return run.threshold < line.level; }) - 1;
    return line.slope * (line.level * last->reach - last->cut);
  }
  const Run* last = std::partition_point(begin, end, [&](const Run& run) { return !(run.threshold < line.level); }) - 1;
  return line.slope * (line.level * (rounds.reach - last->reach) - (rounds.cut - last->cut));
}

// The sum of a line over all rounds of a past.
[[gnu::always_inline]] inline double sum_over(const Rounds& rounds, const Line& line) {
  if (!line.cut) return line.slope * (line.level * rounds.reach);
  const bool in_first = rounds.first < line.level, in_last = rounds.last < line.level;
  if (in_first != in_last) return sum_over_some(rounds, line);
  return in_first ? line.slope * (line.level * rounds.reach - rounds.cut) : 0.0;
}

// Calls f(of): of(place, cut, rounds) is the contribution of a coordinate's numbers to all rounds of a past, as if they
// had been there all along.
template <class F>
void with_numbers(const Model& model, bool single, const F& f) {
  const auto as = [&]<Shape shape>() {
    constexpr int64_t width = width_of(shape);
    const auto of = [&]<class T>(const T* weights) {
      f([weights](int64_t place, bool cut, const Rounds& rounds) __attribute__((always_inline)) {
        return rounds.n == 0 ? 0.0 : sum_over(rounds, line_of<shape>(weights + place * width, cut, rounds));
      });
    };
    single ? of(static_cast<const float*>(model.weights)) : of(static_cast<const double*>(model.weights));
  };
  switch (model.shape) {
    case Shape::identity:
    case Shape::full:
      return as.template operator()<Shape::identity>();
    case Shape::diagonal:
      return as.template operator()<Shape::diagonal>();
    case Shape::theta:
      return as.template operator()<Shape::theta>();
    case Shape::averaged:
      return as.template operator()<Shape::averaged>();
    case Shape::confident:
      return as.template operator()<Shape::confident>();
    case Shape::adaptive:
    case Shape::proximal:
      return as.template operator()<Shape::adaptive>();
    case Shape::truncated:
      return as.template operator()<Shape::truncated>();
    case Shape::adaptive_truncated:
      return as.template operator()<Shape::adaptive_truncated>();
    default:
      return as.template operator()<Shape::confident_full>();
  }
}

template <class F>
bool with_memory(const F& f) {
  try {
    f();
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

// Calls f(slot), ascending, for all slots with nonzero bytes, and perhaps a few others.
template <class F>
void each_slot(const void* numbers, int64_t n_slots, int64_t slot_bytes, const F& f) {
  int64_t next = 0;
  each_touched_range(numbers, size_t(n_slots * slot_bytes), [&](size_t begin, size_t end) {
    next = std::max(next, int64_t(begin) / slot_bytes);
    for (; next < (int64_t(end) + slot_bytes - 1) / slot_bytes; ++next) f(next);
  });
}

}  // namespace

Averaging::Averaging(const Model& model, bool single, const Kernels* kernels)
    : model_(model),
      average_(*model.average),
      single_(single),
      all_slots_(model.shape == Shape::full),
      kernels_(kernels) {}

Averaging::~Averaging() = default;
int64_t* Averaging::columns() { return columns_.data(); }
double* Averaging::values() { return values_.data(); }

bool Averaging::reserve(int64_t n) {
  n_ = n;
  return with_memory([&] {
    if (int64_t(columns_.size()) < n) columns_.resize(size_t(n)), values_.resize(size_t(n));
  });
}

// f(head, rounds) for each head.
template <class F>
void Averaging::each_head(const F& f) const {
  const std::vector<Average::Past>& pasts = average_.pasts;
  const Rounds one(pasts[0]);
  for (int64_t head = 0; head < model_.n_heads; ++head) f(head, pasts.size() > 1 ? Rounds(pasts[size_t(head)]) : one);
}

bool Averaging::predict(double* f, bool learning) {
  const int64_t n_heads = model_.n_heads, n = all_slots_ ? model_.n_slots : n_ + 1;
  if (learning && !with_memory([&] { before_.resize(size_t(n * n_heads)); })) return false;
  with_numbers(model_, single_, [&](const auto& past_of) {
    each_head([&](int64_t head, const Rounds& rounds) {
      const double* sums = model_.sums + head;
      const int64_t* columns = columns_.data();
      const double* values = values_.data();
      double* before = learning && !all_slots_ ? before_.data() + head : nullptr;
      const double intercept = past_of(head, false, rounds);
      double sum = model_.intercept ? intercept + sums[0] : 0.0;
      if (before) before[0] = intercept;
      for (int64_t i = 0; i < n_; ++i) {
        const int64_t place = (columns[i] + 1) * n_heads;
        const double past = past_of(place + head, true, rounds);
        sum += values[i] * (past + sums[place]);
        if (before) before[(i + 1) * n_heads] = past;
      }
      f[head] = average_.over(head) > 0 ? sum / average_.over(head) : sum;
      if (learning && all_slots_)
        for (int64_t slot = 0; slot < n; ++slot)
          before_[size_t(slot * n_heads + head)] = past_of(slot * n_heads + head, slot > 0, rounds);
    });
  });
  return true;
}

bool Averaging::absorb() {
  const int64_t n_heads = model_.n_heads, n = all_slots_ ? model_.n_slots : n_ + 1;
  return with_memory([&] {
    with_numbers(model_, single_, [&](const auto& past_of) {
      each_head([&](int64_t head, const Rounds& rounds) {
        const int64_t* columns = columns_.data();
        const double* before = before_.data() + head;
        for (int64_t i = 0; i < n; ++i) {
          const int64_t slot = all_slots_ || i == 0 ? i : columns[i - 1] + 1, place = slot * n_heads + head;
          const double by = before[i * n_heads] - past_of(place, slot > 0, rounds);
          if (by != 0) write(place, model_.sums[place] + by);
        }
      });
    });
  });
}

void Averaging::write(int64_t place, double value) {
  double& sum = model_.sums[place];
  if (average_.can_roll_back_) average_.changes_.emplace_back(place, sum);
  if (sum == 0) average_.written += 1;
  sum = value;
}

bool Averaging::settle(int64_t problem) {
  const size_t which = size_t(problem), n_problems = average_.pasts.size();
  Average::Past& past = average_.pasts[which];
  if (past.runs.empty()) return true;
  const int64_t n_heads = model_.n_heads, first = n_problems > 1 ? problem : 0,
                last = n_problems > 1 ? problem + 1 : n_heads;
  const int64_t slot_bytes = n_heads * width_of(model_.shape) * (single_ ? 4 : 8);
  return with_memory([&] {
    average_.save(which);
    const Rounds rounds(past);
    with_numbers(model_, single_, [&](const auto& past_of) {
      each_slot(model_.weights, model_.n_slots, slot_bytes, [&](int64_t slot) {
        for (int64_t place = slot * n_heads + first; place < slot * n_heads + last; ++place)
          if (const double by = past_of(place, slot > 0, rounds); by != 0) write(place, model_.sums[place] + by);
      });
    });
    past.runs.clear();
    for (size_t i = 0; i < before_.size(); i += size_t(n_heads))
      std::fill(before_.begin() + int64_t(i) + first, before_.begin() + int64_t(i) + last, 0.0);
  });
}

bool Averaging::finish(const Task& task) {
  if (model_.shape == Shape::confident_full) {
    if (!add_weights(task)) return false;
  } else {
    for (size_t problem = 0; problem < average_.pasts.size(); ++problem) {
      const Memory& memory = task.memory[problem];
      Round round{.scale = memory.weight_scale};
      if (task.coordinate_rule) round = task.coordinate_rule->round(memory.t + 1, memory.cut);
      if (single_) round.threshold = double(float(round.threshold));  // as the loop rounds it
      if (!append(int64_t(problem), round.threshold, round.scale, round.delta, round.limit)) return false;
    }
  }
  average_.total += average_.growth;
  average_.growth *= average_.factor_;
  return average_.growth < kLargestGrowth || with_memory([&] { fold(); });
}

bool Averaging::append(int64_t problem, double threshold, double scale, double delta, double limit) {
  Average::Past& past = average_.pasts[size_t(problem)];
  auto& runs = past.runs;
  if (!runs.empty()) {
    const double first = runs.front().threshold, last = runs.back().threshold;
    const bool turns = (threshold > last && first > last) || (threshold < last && first < last);
    if ((turns || delta != past.delta || limit != past.limit) && !settle(problem)) return false;
  }
  past.delta = delta, past.limit = limit;
  const double g = average_.growth * scale, total = average_.total + average_.growth;
  return with_memory([&] {
           if (!runs.empty() && runs.back().threshold == threshold)
             runs.back().reach += g, runs.back().cut += g * threshold;
           else if (runs.empty())
             runs.push_back({threshold, g, g * threshold});
           else
             runs.push_back({threshold, runs.back().reach + g, runs.back().cut + g * threshold});
         }) &&
         ((runs.back().reach <= kLargestDecay * total * std::fabs(scale) &&
           int64_t(runs.size()) < std::max(kFewRuns, int64_t(average_.written / 8))) ||
          settle(problem));
}

// For learners whose rounds change every weight: visits all weights.
bool Averaging::add_weights(const Task& task) {
  std::vector<Round> rounds;
  std::vector<int64_t> slots;
  std::vector<int32_t> heads;
  std::vector<double> weights;
  const size_t n = size_t(model_.n_slots * model_.n_heads);
  if (!with_memory([&] {
        for (size_t problem = 0; problem < average_.pasts.size(); ++problem) {
          const Memory& memory = task.memory[problem];
          rounds.push_back(task.coordinate_rule->round(memory.t + 1, memory.cut));
          if (single_) rounds.back().threshold = double(float(rounds.back().threshold));
        }
        slots.resize(n), heads.resize(n), weights.resize(n);
      }))
    return false;
  const View view{rounds.data(), int64_t(rounds.size())};
  const int64_t found = kernels_->nonzero(model_, view, 0, {int64_t(n), slots.data(), heads.data(), weights.data()});
  if (found < 0) return false;
  return with_memory([&] {
    for (int64_t i = 0; i < found; ++i) {
      const int64_t place = slots[size_t(i)] * model_.n_heads + heads[size_t(i)];
      write(place, model_.sums[place] + average_.growth * weights[size_t(i)]);
    }
  });
}

// Divides by a power of two, which is exact except for numbers that underflow.
void Averaging::fold() {
  constexpr double by = 1 / kLargestGrowth;
  each_slot(model_.sums, model_.n_slots, model_.n_heads * int64_t(sizeof(double)), [&](int64_t slot) {
    for (int64_t place = slot * model_.n_heads; place < (slot + 1) * model_.n_heads; ++place)
      if (model_.sums[place] != 0) write(place, model_.sums[place] * by);
  });
  for (size_t problem = 0; problem < average_.pasts.size(); ++problem) {
    Average::Past& past = average_.pasts[problem];
    average_.save(problem);
    for (Average::Run& run : past.runs) run.reach *= by, run.cut *= by;
  }
  average_.growth *= by, average_.total *= by;
  for (double& born : average_.born) born *= by;
}

int64_t Averaging::nonzero(int64_t first, const NonzeroRoom& room) const {
  const int64_t n_heads = model_.n_heads;
  std::vector<int64_t> slots, more, all;
  if (!with_memory([&] {
        const auto keep = [](std::vector<int64_t>& in) { return [&in](int64_t slot) { in.push_back(slot); }; };
        each_slot(model_.weights, model_.n_slots, n_heads * width_of(model_.shape) * (single_ ? 4 : 8), keep(slots));
        each_slot(model_.sums, model_.n_slots, n_heads * int64_t(sizeof(double)), keep(more));
        std::set_union(slots.begin(), slots.end(), more.begin(), more.end(), std::back_inserter(all));
      }))
    return -1;
  int64_t n = 0;
  with_numbers(model_, single_, [&](const auto& past_of) {
    for (const int64_t slot : all) {
      if (slot < first) continue;
      each_head([&](int64_t head, const Rounds& rounds) {
        const int64_t place = slot * n_heads + head;
        const double sum = past_of(place, slot > 0, rounds) + model_.sums[place];
        if (sum == 0 || !(average_.over(head) > 0)) return;
        if (n < room.size) {
          room.slots[n] = slot, room.values[n] = sum / average_.over(head);
          if (room.heads) room.heads[n] = int32_t(head);
        }
        ++n;
      });
    }
  });
  return n;
}

}  // namespace sureline
