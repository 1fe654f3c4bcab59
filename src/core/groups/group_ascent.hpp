// Algorithm 3 of Tan et al.: the rows of a batch, reduced to the selected columns, and dual coordinate ascent over
// them.
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
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "groups/selected_rows.hpp"

namespace sureline::groups {

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

// Solves sigma s = sum_k max(0, a_k - s) by Newton's method. It is exact as soon as the same groups are above s twice.
// It starts from `s`, which changes little from step to step. The first step leads to the root or below, the others up
// to it. A step that does not go up is a rounding error.
inline double threshold(const double* a, int64_t n, double sigma, double s) {
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

// One row in a group: its entries there, e = u.x, n = x'S x.
struct Touch {
  int64_t group, begin, end;
  double e, n;
};

template <class T, bool covariance>
class Ascent {
 public:
  Ascent(const SelectedRows<T>& selection, const Objective& objective, const Duals& duals)
      : rows_(selection), o_(objective), duals_(duals), K_(selection.n_groups()) {
    const size_t n = size_t(rows_.offsets.back()), K = size_t(K_);
    z_.resize(n), v_.resize(n), a_.resize(K), a2_.resize(K), c_.resize(K), trial_.resize(K), touched_.resize(K);
    if (covariance) u_.resize(n);
    const double* from = duals.z;
    for (int64_t k = 0; k < K_; ++k) {
      const int64_t size = rows_.size(k), offset = rows_.offsets[size_t(k)], ld = padded(size);
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
    for (int64_t i = 0; i < rows_.n_rows; ++i) {
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
      const double norm2 = rows_.norm2[size_t(i)] + (o_.intercept ? 1 / o_.P_b : 0.0);
      if (norm2 == 0) {  // no group has entries of the row; the dual is largest at the end of its domain
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
    for (int64_t k = 0; k < K_; ++k) to = std::copy_n(z_.data() + rows_.offsets[size_t(k)], rows_.size(k), to);
    *duals_.z_b = z_b_;
    return result;
  }

  Value value(const Batch& batch, bool with_gap) {
    Value result;
    double linear = 0, quadratic = 0, most = 0;
    for (int64_t i = 0; i < rows_.n_rows; ++i) {
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
  const double* block(int64_t k) const { return rows_.S.data() + rows_.blocks[size_t(k)]; }

  // The row's part of the duality gap, never negative: xi^q - alpha (1 - m) + [q = 2] alpha^2 / 4.
  double gap(double xi, double alpha) const {
    const double loss = std::max(xi, 0.0);
    return o_.q == 1 ? loss - alpha * xi : loss * loss - alpha * xi + alpha * alpha / 4;
  }

  double score(int64_t i) {
    double f = o_.intercept ? z_b_ / o_.P_b : 0.0;
    n_touched_ = 0;
    const double* u = this->u();
    const int64_t end = rows_.starts[i + 1];
    for (int64_t j = rows_.starts[i]; j < end;) {
      const int64_t k = rows_.group_of[size_t(rows_.positions[j] / kPad)], begin = j;
      const int32_t beyond = int32_t(rows_.offsets[size_t(k) + 1]);
      double e = 0;
      for (; j < end && rows_.positions[j] < beyond; ++j) e += u[rows_.positions[j]] * double(rows_.values[j]);
      touched_[size_t(n_touched_++)] = {k, begin, j, e, 0};
      f += c_[size_t(k)] * e;
    }
    return f;
  }

  // v_k = S_k x_k and n_k = x_k.v_k of the groups that the row touches.
  void prepare() {
    for (int64_t t = 0; t < n_touched_; ++t) {
      Touch& touch = touched_[size_t(t)];
      const int32_t* at = rows_.positions.data();
      const T* x = rows_.values.data();
      touch.n = 0;
      if (covariance) {
        const int64_t offset = rows_.offsets[size_t(touch.group)], ld = padded(rows_.size(touch.group));
        const double* S = block(touch.group);
        double* v = v_.data() + offset;
        std::fill_n(v, ld, 0.0);
        for (int64_t j = touch.begin; j < touch.end; ++j) add(v, double(x[j]), S + (at[j] - offset) * ld, ld);
        for (int64_t j = touch.begin; j < touch.end; ++j) touch.n += double(x[j]) * v_[size_t(at[j])];
        touch.n = std::max(touch.n, 0.0);
      } else {
        for (int64_t j = touch.begin; j < touch.end; ++j) touch.n += double(x[j]) * double(x[j]);
      }
    }
  }

  void apply(double tau) {
    for (int64_t t = 0; t < n_touched_; ++t) {
      const Touch& touch = touched_[size_t(t)];
      const size_t k = size_t(touch.group);
      for (int64_t j = touch.begin; j < touch.end; ++j) z_[size_t(rows_.positions[j])] += tau * double(rows_.values[j]);
      if (covariance) {
        const int64_t offset = rows_.offsets[k];
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
    double p = 0, da = 0;  // number of groups above s, and the sum of their da/dtau
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

  // The zero of the slope, or the end of the domain, by Newton's method within a shrinking bracket.
  double exact_step(double C, double y, double f, double alpha) {
    std::copy(a_.begin(), a_.end(), trial_.begin());
    double b = f;
    for (int64_t i = 0; i < n_touched_; ++i) b -= c_[size_t(touched_[size_t(i)].group)] * touched_[size_t(i)].e;
    Slope here = slope_after(0, C, y, alpha, b);
    if (here.value == 0) return 0;
    const bool up = here.value > 0;
    // For q = 2 the slope is not positive where alpha + t is twice the loss before the step.
    const double end = !up ? -alpha : o_.q == 1 ? 1 - alpha : 2 * (1 - y * f) - alpha;
    double inner = 0, outer = end, t = 0;  // the slope has its first sign at inner, and not at outer
    bool looked = false;                   // whether the end was evaluated
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

  const SelectedRows<T>& rows_;
  const Objective o_;
  const Duals duals_;
  const int64_t K_;
  std::vector<double> z_, u_, v_, a_, a2_, c_, trial_;
  std::vector<Touch> touched_;
  int64_t n_touched_ = 0;
  double z_b_ = 0, s_ = 0;
};

}  // namespace sureline::groups
