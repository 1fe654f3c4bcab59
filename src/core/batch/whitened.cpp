#include "batch/whitened.hpp"

#include <algorithm>
#include <cmath>

#include "batch/vectors.hpp"

namespace sureline::SURELINE_ISA {
namespace {

#if defined(__AVX512F__)
double total(Vector v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }
#elif defined(__AVX__)
double total(Vector v) { return (v[0] + v[2]) + (v[1] + v[3]); }
#else
double total(Vector v) { return v[0] + v[1]; }
#endif

// Sum of a_i b_i, in several independent partial sums.
template <class A, class B>
double dot(const A* a, const B* b, int64_t n) {
  Vector sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    for (int k = 0; k < 4; ++k) sums[k] += load(a + i + k * kLanes) * load(b + i + k * kLanes);
  for (int k = 0; i + kLanes <= n; i += kLanes, ++k) sums[k] += load(a + i) * load(b + i);
  const Vector all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double sum = total(all);
  for (; i < n; ++i) sum += double(a[i]) * double(b[i]);
  return sum;
}

// The scores of a row, the square of its length, and a step along it: by whitened rows ...
template <class T>
class ByRows {
 public:
  explicit ByRows(const WhitenedPass& pass) : p_(pass) {}
  double score(int64_t row, int64_t head) const { return dot(p_.w + head * p_.n_slots, at(row), p_.n_slots); }
  double square(int64_t row) const { return dot(at(row), at(row), p_.n_slots); }
  void step(int64_t row, int64_t head, double a) const {
    const T* x = at(row);
    double* __restrict__ w = p_.w + head * p_.n_slots;
    for (int64_t i = 0; i < p_.n_slots; ++i) w[i] += a * x[i];
  }

 private:
  const T* at(int64_t row) const { return static_cast<const T*>(p_.rows) + row * p_.n_slots; }
  const WhitenedPass& p_;
};

// ... and by their inner products.
class ByProducts {
 public:
  explicit ByProducts(const WhitenedPass& pass) : p_(pass) {}
  double score(int64_t row, int64_t head) const { return p_.f[head * p_.n_rows + row]; }
  double square(int64_t row) const { return p_.V[row * p_.n_rows + row]; }
  void step(int64_t row, int64_t head, double a) const {
    p_.steps[head * p_.n_rows + row] += a;
    const double* V = p_.V + row * p_.n_rows;
    double* __restrict__ f = p_.f + head * p_.n_rows;
    for (int64_t later = row + 1; later < p_.n_rows; ++later) f[later] += a * V[later];
  }

 private:
  const WhitenedPass& p_;
};

template <class Space>
class Pass {
 public:
  explicit Pass(const WhitenedPass& pass) : p_(pass), space_(pass) {}

  int64_t run() {
    for (int64_t row = 0; row < p_.n_rows; ++row)
      if (p_.C[row] != 0 && !take(row, p_.labels[row])) return row;
    return -1;
  }

 private:
  bool take(int64_t row, int32_t label) {
    int64_t best = 0;
    for (int64_t head = 0; head < p_.n_heads; ++head) {
      p_.scores[head] = space_.score(row, head);
      if (!std::isfinite(p_.scores[head])) return false;
      if (p_.scores[head] > p_.scores[best]) best = head;
    }
    square_ = p_.squares[row] = space_.square(row);
    moved_ = false;
    Tally& tally = p_.tally[label];
    ++tally.seen;
    bool fine = true;
    if (p_.policy == Policy::binary) {
      const double f = p_.scores[0], y = label ? 1 : -1;
      tally.mistakes += (f > 0) != (label != 0);
      fine = move(row, y * f, 1, 0, y, -1);
    } else {
      tally.mistakes += best != label;
      if (p_.policy == Policy::rival) {
        const int64_t rival = best_but(label);
        fine = move(row, p_.scores[label] - p_.scores[rival], 2, label, 1, rival);
      } else {
        for (int64_t head = 0; fine && head < p_.n_heads; ++head) {
          const double y = head == label ? 1 : -1;
          fine = move(row, y * p_.scores[head], 1, head, y, -1);
        }
      }
    }
    tally.updates += moved_;
    return fine;
  }

  int64_t best_but(int64_t label) const {
    int64_t best = label == 0 ? 1 : 0;
    for (int64_t head = best + 1; head < p_.n_heads; ++head)
      if (head != label && p_.scores[head] > p_.scores[best]) best = head;
    return best;
  }

  // The step of a binary problem with margin m, in which |x^|^2 counts `times`; false if it is not finite.
  bool move(int64_t row, double m, int times, int64_t head, double y, int64_t rival) {
    const double xi = 1 - m;
    if (!(xi > 0)) return true;
    const double v = times * square_;
    if (!std::isfinite(v)) return false;
    if (!(v > 0)) return true;
    const double alpha = p_.q == 1 ? std::min(xi / v, p_.C[row]) : xi / (v + 0.5 / p_.C[row]);
    step(row, head, alpha * y);
    if (rival >= 0) step(row, rival, -alpha);
    moved_ = true;
    return true;
  }

  void step(int64_t row, int64_t head, double a) {
    space_.step(row, head, a);
    p_.moves[row * p_.n_heads + head] = a;
  }

  const WhitenedPass& p_;
  const Space space_;
  double square_ = 0;  // |x^|^2 of the row at hand
  bool moved_ = false;
};

}  // namespace

int64_t learn_whitened(const WhitenedPass& pass) {
  if (pass.V) return Pass<ByProducts>(pass).run();
  return pass.single ? Pass<ByRows<float>>(pass).run() : Pass<ByRows<double>>(pass).run();
}

}  // namespace sureline::SURELINE_ISA
