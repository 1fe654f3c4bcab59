// The stored numbers of a weight, and how the weight follows from them.
#pragma once

namespace sureline {

// Slot 0 is the intercept, slot j + 1 is column j. The heads of a slot (one per class, or a single one) lie side by
// side: numbers[slot][head] is listed here. S is stored so that zero bytes mean 1. A factor holds S = U D U' of a head,
// see full.hpp. Zero bytes are a fresh coordinate in every shape.
enum class Shape {
  // of the margin rules, margin_rules.hpp
  identity,  // w                S = I
  diagonal,  // w, S
  theta,     // theta, S         the weight is S theta
  full,      // w, and factors
  // of the coordinate rules, coordinate_rules.hpp
  averaged,            // theta            scale soft(theta, threshold)
  confident,           // theta, S         soft(S theta, threshold)
  confident_full,      // theta, and factors, likewise
  adaptive,            // theta, sqrt(G)   scale / (delta + sqrt(G)) soft(theta, threshold)
  proximal,            // the same, with FTRL's step
  truncated,           // w, cut           soft(w, threshold - cut) where |w| <= limit
  adaptive_truncated,  // w, sqrt(G), cut  soft(w, (threshold - cut) / (delta + sqrt(G)))
  // of online dual coordinate ascent, dual_rule.hpp; without a threshold where limit is infinite
  dual,           // theta               scale soft(theta, threshold)
  dual_counted,   // theta, n            likewise, and n examples of the sliding window are in theta
  dual_smoothed,  // theta, u, n         r u + (scale theta - sign(theta) delta, where |theta| > threshold)
  simplex,        // w, theta            w
};

inline constexpr int width_of(Shape shape) {
  switch (shape) {
    case Shape::identity:
    case Shape::full:
    case Shape::averaged:
    case Shape::confident_full:
    case Shape::dual:
      return 1;
    case Shape::adaptive_truncated:
    case Shape::dual_smoothed:
      return 3;
    default:
      return 2;
  }
}

inline constexpr bool is_dual(Shape shape) { return shape >= Shape::dual; }

// True if a Round is needed to compute weights: for all rules except the margin rules.
inline constexpr bool has_rounds(Shape shape) { return shape >= Shape::averaged; }

inline constexpr bool has_factors(Shape shape) { return shape == Shape::full || shape == Shape::confident_full; }

// True if the second number of a weight is its variance.
inline constexpr bool has_variances(Shape shape) {
  return shape == Shape::diagonal || shape == Shape::theta || shape == Shape::confident;
}

// True if the second number of a weight is sqrt(G).
inline constexpr bool has_roots(Shape shape) {
  return shape == Shape::adaptive || shape == Shape::proximal || shape == Shape::adaptive_truncated;
}

// True if x'Sx is known.
inline constexpr bool has_covariance(Shape shape) {
  return shape == Shape::identity || has_variances(shape) || has_factors(shape);
}

// True if a row is absorbed before it is predicted.
inline constexpr bool absorbs(Shape shape) { return shape == Shape::confident || shape == Shape::confident_full; }

// True if a Budget can choose the threshold.
inline constexpr bool has_budget(Shape shape) {
  return shape == Shape::averaged || shape == Shape::adaptive || absorbs(shape);
}

// True if features can be selected: a feature is judged by one number.
inline constexpr bool has_selection(Shape shape) { return shape == Shape::identity || shape == Shape::diagonal; }

}  // namespace sureline
