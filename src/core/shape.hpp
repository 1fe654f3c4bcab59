// How the numbers of one weight are shaped in memory, and how a weight comes from them.
#pragma once

namespace sureline {

// Slot 0 is the intercept, slot j + 1 is column j, and the heads (one per class, or a single one) of a slot lie side by
// side: numbers[slot][head] is what is listed here. S is stored so that zero bytes mean 1; a factor holds S = U D U' of
// a head, see full.hpp. All zero bytes is a fresh coordinate in every shape.
enum class Shape {
  // of the margin rules, rules.hpp
  identity,  // w                S = I
  diagonal,  // w, S
  theta,     // theta, S         the weight is S theta
  full,      // w, and factors
  // of the coordinate rules, framework.hpp
  averaged,            // theta            scale soft(theta, threshold)
  confident,           // theta, S         soft(S theta, threshold)
  confident_full,      // theta, and factors, likewise
  adaptive,            // theta, sqrt(G)   scale / (delta + sqrt(G)) soft(theta, threshold)
  proximal,            // the same, with FTRL's step
  truncated,           // w, cut           soft(w, threshold - cut) where |w| <= limit
  adaptive_truncated,  // w, sqrt(G), cut  soft(w, (threshold - cut) / (delta + sqrt(G)))
};

inline constexpr int width_of(Shape shape) {
  switch (shape) {
    case Shape::identity:
    case Shape::full:
    case Shape::averaged:
    case Shape::confident_full:
      return 1;
    case Shape::adaptive_truncated:
      return 3;
    default:
      return 2;
  }
}

inline constexpr bool has_factors(Shape shape) { return shape == Shape::full || shape == Shape::confident_full; }

}  // namespace sureline
