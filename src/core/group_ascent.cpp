// Algorithm 3 of Tan et al.: the rows of a batch, reduced to the selected columns, and dual coordinate ascent over them.
//
//   min_w  sigma/2 |w|^2 + 1/2 (sum_k |w_k|)^2 + 1/2 w_b^2 + sum_i C_i xi_i^q,   xi_i = max(0, 1 - y_i f_i)        (16)
//   max_a  sum_i C_i (alpha_i - [q = 2] alpha_i^2 / 4) - Omega*(z) - 1/2 z_b^2 / P_b,  z = sum_i C_i alpha_i y_i x^_i
//
// in whitened coordinates w_k = L_k' mu_k, x^_k = L_k^-1 x_k with P_k = L_k L_k' = S_k^-1. They are never formed: with
// z_k = sum_i C_i alpha_i y_i x_ik as it is, u_k = S_k z_k and a_k^2 = z_k.u_k = |z^_k|^2, the gradient of Omega* is
//
//   mu_k = c_k u_k,  c_k = max(0, 1 - s/a_k) / sigma,  sum_k max(0, a_k - s) = sigma s
//
// so a score is sum_k c_k u_k.x_ik, in the time of the row's nonzeros, and a step z += tau x costs r times as much.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "group_rows.hpp"
#include "groups.hpp"

namespace sureline::groups {

namespace {

int64_t padded(int64_t n) { return (n + kPad - 1) / kPad * kPad; }

// An array that grows in place where the allocator can, which for large ones it does by moving pages.
template <class T>
class Growing {
 public:
  Growing() = default;
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;
  ~Growing() { std::free(data_); }
  void resize(int64_t n) {
    void* data = std::realloc(data_, size_t(std::max<int64_t>(n, 1)) * sizeof(T));
    if (!data) throw std::bad_alloc();
    data_ = static_cast<T*>(data);
    size_ = n;
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};

inline double dot(const double* a, const double* b, int64_t n) {  // n is a multiple of kPad
  double lanes[kPad] = {};
  for (int64_t i = 0; i < n; i += kPad)
    for (int64_t l = 0; l < kPad; ++l) lanes[l] += a[i + l] * b[i + l];
  for (int64_t half = kPad / 2; half > 0; half /= 2)
    for (int64_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

// y += t x
inline void add(double* __restrict y, double t, const double* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += t * x[i];
}

// sigma s = sum_k max(0, a_k - s), by Newton's method: exact as soon as the same groups are above s twice. From `s`, since
// it changes little from step to step. The first step leads to the root or below, the others up to it; one that does not
// go up is a rounding error.
double threshold(const double* a, int64_t n, double sigma, double s) {
  for (double before = -1;;) {
    double total = 0, p = 0;
    for (int64_t k = 0; k < n; ++k) {
      total += a[k] > s ? a[k] : 0.0;
      p += a[k] > s ? 1.0 : 0.0;
    }
    const double next = total / (sigma + p);
    if (p == before || (before >= 0 && !(next > s))) return s;
    before = p;
    s = next;
  }
}

// What one row is to a group: its entries there, e = u.x, n = x'S x.
struct Touch {
  int64_t group, begin, end;
  double e, n;
};

template <class T>
class SelectionOf final : public Selection {
 public:
  explicit SelectionOf(int64_t n_rows) : Selection(n_rows), norm2_(size_t(n_rows)) {
    starts_.resize(n_rows + 1);
    std::fill_n(starts_.data(), n_rows + 1, 0);
    positions_.resize(0);
    values_.resize(0);
  }

  Outcome add_groups(const Rows& rows, const double* C, const std::vector<int64_t>& columns,
                     const std::vector<int64_t>& sizes, int64_t most_bytes) override {
    std::vector<int64_t> positions, ends;
    int64_t offset = offsets_.back(), blocks = 0;
    for (const int64_t size : sizes) {
      for (int64_t i = 0; i < size; ++i) positions.push_back(offset + i);
      ends.push_back(offset += padded(size));
      blocks += padded(size) * size * int64_t(sizeof(double));
    }
    if (offset > INT32_MAX) return {Refusal::memory, -1};
    New more{std::vector<int32_t>(static_cast<size_t>(n_rows_)), {}, {}};
    const int64_t most_entries = (most_bytes - nbytes() - blocks) / kEntry;
    const Outcome outcome = with_rows_of<T>(rows, [&](const auto& any) {
      return extract(any, rows.n_columns, C, Columns(columns.data(), positions.data(), int64_t(columns.size())),
                     most_entries, more);
    });
    if (outcome.refusal != Refusal::none) return outcome;
    merge(more);
    for (size_t k = 0; k < sizes.size(); ++k) {
      sizes_.push_back(sizes[k]);
      offsets_.push_back(ends[k]);
      group_of_.resize(size_t(ends[k] / kPad), int32_t(n_groups() - 1));
    }
    return {};
  }

  void gram(int64_t group, const double* weight, double* G) const override {
    const int64_t n = size(group), offset = offsets_[size_t(group)];
    std::fill_n(G, n * n, 0.0);
    for (int64_t i = 0; i < n_rows_; ++i) {
      if (weight[i] == 0) continue;
      const auto [begin, end] = entries(i, group);
      for (int64_t a = begin; a < end; ++a) {
        const double t = weight[i] * double(values_[a]);
        double* row = G + (positions_[a] - offset) * n;
        if (end - begin == n)
          for (int64_t b = 0; b <= a - begin; ++b) row[b] += t * double(values_[begin + b]);
        else
          for (int64_t b = begin; b <= a; ++b) row[positions_[b] - offset] += t * double(values_[b]);
      }
    }
    for (int64_t a = 0; a < n; ++a)
      for (int64_t b = 0; b < a; ++b) G[b * n + a] = G[a * n + b];
  }

  void set_covariance(const double* S) override {
    const int64_t group = n_ready_++, n = size(group), ld = padded(n);
    if (S) {
      blocks_.push_back(int64_t(S_.size()));
      S_.resize(S_.size() + size_t(n * ld));
      for (int64_t a = 0; a < n; ++a) std::copy_n(S + a * n, n, S_.data() + blocks_.back() + a * ld);
    }
    const int64_t offset = offsets_[size_t(group)];
    for (int64_t i = 0; i < n_rows_; ++i) {
      const auto [begin, end] = entries(i, group);
      for (int64_t a = begin; a < end; ++a) {
        double Sx = 0;
        if (!S) {
          Sx = double(values_[a]);
        } else {
          const double* row = S + (positions_[a] - offset) * n;
          for (int64_t b = begin; b < end; ++b) Sx += row[positions_[b] - offset] * double(values_[b]);
        }
        norm2_[size_t(i)] += double(values_[a]) * Sx;
      }
    }
  }

  Sweep sweep(const Batch& batch, const Objective& objective, const Duals& duals, double* scores,
              uint8_t* moved) const override {
    return S_.empty() ? Ascent<false>(*this, objective, duals).sweep(batch, scores, moved)
                      : Ascent<true>(*this, objective, duals).sweep(batch, scores, moved);
  }

  Value value(const Batch& batch, const Objective& objective, const Duals& duals, bool with_gap) const override {
    return S_.empty() ? Ascent<false>(*this, objective, duals).value(batch, with_gap)
                      : Ascent<true>(*this, objective, duals).value(batch, with_gap);
  }

  bool has_covariance() const override { return !S_.empty(); }

  int64_t nbytes() const override {
    return (starts_.size() + n_rows_ + int64_t(S_.size())) * 8 + positions_.size() * kEntry;
  }

 private:
  static constexpr int64_t kEntry = int64_t(sizeof(int32_t) + sizeof(T));

  // Entries that are to be added: how many in each row, then those of the rows one after the other.
  struct New {
    std::vector<int32_t> counts, positions;
    std::vector<T> values;
  };

  template <class AnyRows>
  Outcome extract(const AnyRows& any, int64_t n_columns, const double* C, const Columns& table, int64_t most_entries,
                  New& more) const {
    std::vector<std::pair<int32_t, T>> entries;
    Found found;
    for (int64_t i = 0; i < n_rows_; ++i) {
      if (C[i] == 0) continue;
      const auto x = any[i];
      if (x.inspect(n_columns) == Refusal::contents) return {Refusal::contents, i};
      entries.clear();
      found.in(x, table, [&](int64_t p, T value) {
        if (value != 0) entries.emplace_back(int32_t(p), value);
      });
      // By position, which brings those of a group together; so they are if there is one group and columns ascend.
      const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
      if (!std::is_sorted(entries.begin(), entries.end(), before)) std::sort(entries.begin(), entries.end(), before);
      more.counts[size_t(i)] = int32_t(entries.size());
      for (const auto& [position, value] : entries) {
        more.positions.push_back(position);
        more.values.push_back(value);
      }
      if (int64_t(more.positions.size()) > most_entries) return {Refusal::memory, -1};
    }
    return most_entries < 0 ? Outcome{Refusal::memory, -1} : Outcome{};
  }

  // The new entries behind the old ones of each row, from the last row on, in place.
  void merge(const New& more) {
    int64_t from = int64_t(more.positions.size()), to = positions_.size() + from;
    positions_.resize(to);
    values_.resize(to);
    for (int64_t i = n_rows_ - 1; i >= 0; --i) {
      const int64_t begin = starts_[i], n_old = starts_[i + 1] - begin, n_new = more.counts[size_t(i)];
      starts_[i + 1] = to;
      from -= n_new, to -= n_new;
      std::copy_n(more.positions.data() + from, n_new, positions_.data() + to);
      std::copy_n(more.values.data() + from, n_new, values_.data() + to);
      to -= n_old;
      std::copy_backward(positions_.data() + begin, positions_.data() + begin + n_old, positions_.data() + to + n_old);
      std::copy_backward(values_.data() + begin, values_.data() + begin + n_old, values_.data() + to + n_old);
    }
  }

  struct Range {
    int64_t begin, end;
  };
  Range entries(int64_t row, int64_t group) const {
    const int32_t* first = positions_.data() + starts_[row];
    const int32_t* last = positions_.data() + starts_[row + 1];
    if (group < n_groups() - 1) last = std::lower_bound(first, last, int32_t(offsets_[size_t(group) + 1]));
    if (group > 0) first = std::lower_bound(first, last, int32_t(offsets_[size_t(group)]));
    return {first - positions_.data(), last - positions_.data()};
  }

  template <bool covariance>
  class Ascent {
   public:
    Ascent(const SelectionOf& selection, const Objective& objective, const Duals& duals)
        : rows_(selection), o_(objective), duals_(duals), K_(selection.n_groups()) {
      const size_t n = size_t(rows_.offsets_.back()), K = size_t(K_);
      z_.resize(n), v_.resize(n), a_.resize(K), a2_.resize(K), c_.resize(K), trial_.resize(K), touched_.resize(K);
      if (covariance) u_.resize(n);
      const double* from = duals.z;
      for (int64_t k = 0; k < K_; ++k) {
        const int64_t size = rows_.size(k), offset = rows_.offsets_[size_t(k)], ld = padded(size);
        double* z = z_.data() + offset;
        std::copy_n(from, size, z);
        from += size;
        if (covariance)
          for (int64_t j = 0; j < size; ++j) add(u_.data() + offset, z[j], block(k) + j * ld, ld);
        a2_[size_t(k)] = std::max(0.0, dot(z, u() + offset, ld));
        a_[size_t(k)] = std::sqrt(a2_[size_t(k)]);
      }
      z_b_ = *duals.z_b;
      balance();
    }

    Sweep sweep(const Batch& batch, double* scores, uint8_t* moved) {
      Sweep result;
      for (int64_t i = 0; i < rows_.n_rows_; ++i) {
        const double C = batch.C[i];
        if (C == 0) continue;
        const double y = batch.sign(i), f = score(i);
        if (!std::isfinite(f)) {
          result.outcome = {Refusal::score, i};
          return result;
        }
        if (scores) scores[i] = f;
        double& alpha = duals_.alpha[i];
        const double xi = 1 - y * f;
        result.gap += C * gap(xi, alpha);
        const double norm2 = rows_.norm2_[size_t(i)] + (o_.intercept ? 1 / o_.P_b : 0.0);
        if (norm2 == 0) {  // no group has the row, whatever its alpha; the dual is largest at the end of its domain
          alpha = o_.q;
          continue;
        }
        double step = 0;
        if (o_.exact) {
          const double slope = xi - (o_.q == 2 ? alpha / 2 : 0.0);
          if (slope > 0 ? o_.q == 1 && alpha == 1 : alpha == 0 || slope == 0) continue;
          prepare();
          step = exact_step(C, y, f, alpha);
          alpha = std::max(0.0, o_.q == 1 ? std::min(1.0, alpha + step) : alpha + step);
        } else {
          if (!(xi > 0)) continue;
          prepare();
          step = o_.q == 1 ? std::min(xi / (C * norm2), 1.0) : xi / (C * norm2 + 0.5);
          alpha += step;
        }
        if (step == 0) continue;
        apply(C * step * y);
        if (moved) moved[i] = 1;
      }
      double* to = duals_.z;
      for (int64_t k = 0; k < K_; ++k) to = std::copy_n(z_.data() + rows_.offsets_[size_t(k)], rows_.size(k), to);
      *duals_.z_b = z_b_;
      return result;
    }

    Value value(const Batch& batch, bool with_gap) {
      Value result;
      double linear = 0, quadratic = 0, most = 0;
      for (int64_t i = 0; i < rows_.n_rows_; ++i) {
        const double alpha = duals_.alpha[i];
        linear += batch.C[i] * (alpha - (o_.q == 2 ? alpha * alpha / 4 : 0.0));
        if (with_gap && batch.C[i] != 0) result.gap += batch.C[i] * gap(1 - batch.sign(i) * score(i), alpha);
      }
      for (size_t k = 0; k < size_t(K_); ++k) quadratic += c_[k] * a2_[k], most = std::max(most, a2_[k]);
      const double b = o_.intercept ? z_b_ * z_b_ / o_.P_b : 0.0;
      result.dual = linear - (quadratic + b) / 2;
      result.theta = linear - (most + b) / 2;
      return result;
    }

   private:
    const double* u() const { return covariance ? u_.data() : z_.data(); }
    const double* block(int64_t k) const { return rows_.S_.data() + rows_.blocks_[size_t(k)]; }

    // xi^q - alpha (1 - m) + [q = 2] alpha^2 / 4, which is never negative: the row's part of primal minus dual.
    double gap(double xi, double alpha) const {
      const double loss = std::max(xi, 0.0);
      return o_.q == 1 ? loss - alpha * xi : loss * loss - alpha * xi + alpha * alpha / 4;
    }

    double score(int64_t i) {
      double f = o_.intercept ? z_b_ / o_.P_b : 0.0;
      n_touched_ = 0;
      const double* u = this->u();
      const int64_t end = rows_.starts_[i + 1];
      for (int64_t j = rows_.starts_[i]; j < end;) {
        const int64_t k = rows_.group_of_[size_t(rows_.positions_[j] / kPad)], begin = j;
        const int32_t beyond = int32_t(rows_.offsets_[size_t(k) + 1]);
        double e = 0;
        for (; j < end && rows_.positions_[j] < beyond; ++j) e += u[rows_.positions_[j]] * double(rows_.values_[j]);
        touched_[size_t(n_touched_++)] = {k, begin, j, e, 0};
        f += c_[size_t(k)] * e;
      }
      return f;
    }

    // v_k = S_k x_k and n_k = x_k.v_k of the groups that the row touches.
    void prepare() {
      for (int64_t t = 0; t < n_touched_; ++t) {
        Touch& touch = touched_[size_t(t)];
        const int32_t* at = rows_.positions_.data();
        const T* x = rows_.values_.data();
        touch.n = 0;
        if (covariance) {
          const int64_t offset = rows_.offsets_[size_t(touch.group)], ld = padded(rows_.size(touch.group));
          const double* S = block(touch.group);
          double* v = v_.data() + offset;
          std::fill_n(v, ld, 0.0);
          for (int64_t j = touch.begin; j < touch.end; ++j) add(v, double(x[j]), S + (at[j] - offset) * ld, ld);
          for (int64_t j = touch.begin; j < touch.end; ++j) touch.n += double(x[j]) * v_[size_t(at[j])];
        } else {
          for (int64_t j = touch.begin; j < touch.end; ++j) touch.n += double(x[j]) * double(x[j]);
        }
      }
    }

    void apply(double tau) {
      for (int64_t t = 0; t < n_touched_; ++t) {
        const Touch& touch = touched_[size_t(t)];
        const size_t k = size_t(touch.group);
        for (int64_t j = touch.begin; j < touch.end; ++j)
          z_[size_t(rows_.positions_[j])] += tau * double(rows_.values_[j]);
        if (covariance) {
          const int64_t offset = rows_.offsets_[k];
          add(u_.data() + offset, tau, v_.data() + offset, padded(rows_.size(touch.group)));
        }
        a2_[k] = std::max(0.0, a2_[k] + tau * (2 * touch.e + tau * touch.n));
        a_[k] = std::sqrt(a2_[k]);
      }
      z_b_ += o_.intercept ? tau : 0.0;
      balance();
    }

    void balance() {
      s_ = threshold(a_.data(), K_, o_.sigma, s_);
      for (size_t k = 0; k < size_t(K_); ++k) c_[k] = a_[k] > s_ ? (1 - s_ / a_[k]) / o_.sigma : 0.0;
    }

    // The slope of the dual over C_i after a step t, 1 - y f(t) - [q = 2] (alpha + t)/2, and its derivative.
    struct Slope {
      double value, derivative;
    };
    Slope slope_after(double t, double C, double y, double alpha, double b) {
      const double tau = C * t * y;
      for (int64_t i = 0; i < n_touched_; ++i) {
        const Touch& touch = touched_[size_t(i)];
        const double a2 = a2_[size_t(touch.group)] + tau * (2 * touch.e + tau * touch.n);
        trial_[size_t(touch.group)] = std::sqrt(std::max(0.0, a2));
      }
      const double s = threshold(trial_.data(), K_, o_.sigma, s_);
      double p = 0, da = 0;  // of the groups above s: how many, and the sum of the derivatives of a by tau
      for (size_t k = 0; k < size_t(K_); ++k) p += trial_[k] > s ? 1.0 : 0.0;
      double f = b + (o_.intercept ? tau / o_.P_b : 0.0), df = o_.intercept ? 1 / o_.P_b : 0.0, e_over_a = 0;
      for (int64_t i = 0; i < n_touched_; ++i) {
        const Touch& touch = touched_[size_t(i)];
        const double a = trial_[size_t(touch.group)], e = touch.e + tau * touch.n;
        if (!(a > s)) continue;
        const double c = (1 - s / a) / o_.sigma, slope = e / a;
        f += c * e;
        df += c * touch.n + slope * slope * (s / a) / o_.sigma;
        da += slope;
        e_over_a += slope;
      }
      df -= e_over_a * da / ((o_.sigma + p) * o_.sigma);
      const bool squared = o_.q == 2;
      return {1 - y * f - (squared ? (alpha + t) / 2 : 0.0), -C * df - (squared ? 0.5 : 0.0)};
    }

    // Where the slope is zero, or the end of the domain: Newton's method within a bracket that shrinks.
    double exact_step(double C, double y, double f, double alpha) {
      std::copy(a_.begin(), a_.end(), trial_.begin());
      double b = f;
      for (int64_t i = 0; i < n_touched_; ++i) b -= c_[size_t(touched_[size_t(i)].group)] * touched_[size_t(i)].e;
      Slope here = slope_after(0, C, y, alpha, b);
      if (here.value == 0) return 0;
      const bool up = here.value > 0;
      // For q = 2 the slope is not positive where alpha + t is twice the loss before the step.
      const double end = !up ? -alpha : o_.q == 1 ? 1 - alpha : 2 * (1 - y * f) - alpha;
      double inner = 0, outer = end, t = 0;  // the slope has the sign of the start at inner, not so at outer
      bool looked = false;                   // at the end
      const double enough = 1e-13 * std::max(1.0, std::abs(here.value));
      for (int i = 0; i < 100; ++i) {
        double next = t - here.value / here.derivative;
        if (!(std::abs(next) < std::abs(outer)) && !looked) {
          looked = true;
          next = end;
        } else if (!((next - inner) * (next - outer) < 0)) {
          next = inner + (outer - inner) / 2;
        }
        if (next == t) break;
        t = next;
        here = slope_after(t, C, y, alpha, b);
        if (t == end && (up ? here.value >= 0 : here.value <= 0)) return end;
        if (std::abs(here.value) <= enough) break;
        ((here.value > 0) == up ? inner : outer) = t;
        if (inner == outer) break;
      }
      return t;
    }

    const SelectionOf& rows_;
    const Objective o_;
    const Duals duals_;
    const int64_t K_;
    std::vector<double> z_, u_, v_, a_, a2_, c_, trial_;
    std::vector<Touch> touched_;
    int64_t n_touched_ = 0;
    double z_b_ = 0, s_ = 0;
  };

  Growing<int64_t> starts_;
  Growing<int32_t> positions_;
  Growing<T> values_;
  std::vector<int32_t> group_of_;  // by position / kPad
  std::vector<double> S_, norm2_;
  std::vector<int64_t> blocks_;  // where the groups' covariances begin in S_
};

}  // namespace

int64_t Selection::n_selected() const {
  int64_t n = 0;
  for (const int64_t size : sizes_) n += size;
  return n;
}

std::unique_ptr<Selection> make_selection(int64_t n_rows, bool single) {
  if (single) return std::make_unique<SelectionOf<float>>(n_rows);
  return std::make_unique<SelectionOf<double>>(n_rows);
}

}  // namespace sureline::groups
