// What core_sites.py puts into the core in place of its operators, so that one build has all mutants. Every changed
// place computes both results, notes whether they ever differ, and hands on the changed one if its number is active.
//
//     a < b      becomes    a < At{7} < b        precedence stays, as the same operator is written twice
//     -x         becomes    Minus{7}->*x
#pragma once

#include <cstring>
#include <type_traits>

extern "C" {
extern int sureline_mutant;                // the number of the active one; 0 for none
extern unsigned char sureline_reached[];   // by number: 1 if the place was computed, 2 if it has no such change
extern unsigned char sureline_differed[];  // by number: the change would have made another result
}

namespace mutation {

struct At {
  int number;
};
struct Minus {
  int number;
};

template <class R>
[[gnu::always_inline]] inline R pick(int number, const R& original, const R& changed) {
  sureline_reached[number] |= 1;
  if (std::memcmp(&original, &changed, sizeof(R)) != 0) sureline_differed[number] = 1;
  return sureline_mutant == number ? changed : original;
}

// Whole numbers are not divided in place of multiplied, nor pointers added.
[[gnu::always_inline]] inline void no_change(int number) { sureline_reached[number] |= 2; }

template <class R>
concept Vector = !std::is_class_v<R> && requires(R r) { r[0] + r[0]; } && !std::is_pointer_v<R>;
template <class R>
struct Scalar {
  static constexpr bool is_float = std::is_floating_point_v<R>;
};
template <Vector R>
struct Scalar<R> {
  static constexpr bool is_float = std::is_floating_point_v<std::decay_t<decltype(std::declval<R>()[0])>>;
};

// Two changes: to the neighbour at equality, and to the opposite.
#define SURELINE_COMPARISON(name, op, neighbour, opposite)                             \
  template <class A>                                                                   \
  struct name {                                                                        \
    const A& a;                                                                        \
    int number;                                                                        \
  };                                                                                   \
  template <class A>                                                                   \
  [[gnu::always_inline]] constexpr name<A> operator op(const A& a, At at) {            \
    return {a, at.number};                                                             \
  }                                                                                    \
  template <class A, class B>                                                          \
  [[gnu::always_inline]] constexpr auto operator op(const name<A>& left, const B& b) { \
    using R = std::decay_t<decltype(left.a op b)>;                                     \
    const R original = left.a op b;                                                    \
    if (std::is_constant_evaluated()) return original;                                 \
    const R other = pick<R>(left.number, original, left.a opposite b);                 \
    if (#neighbour[0] == #opposite[0] && #neighbour[1] == #opposite[1]) return other;  \
    return pick<R>(left.number + 1, other, left.a neighbour b);                        \
  }
SURELINE_COMPARISON(Less, <, <=, >=)
SURELINE_COMPARISON(LessEqual, <=, <, >)
SURELINE_COMPARISON(Greater, >, >=, <=)
SURELINE_COMPARISON(GreaterEqual, >=, >, <)
SURELINE_COMPARISON(Equal, ==, !=, !=)
SURELINE_COMPARISON(Unequal, !=, ==, ==)

#define SURELINE_ARITHMETIC(name, op, changed, only_floats)                                     \
  template <class A>                                                                            \
  struct name {                                                                                 \
    const A& a;                                                                                 \
    int number;                                                                                 \
  };                                                                                            \
  template <class A>                                                                            \
  [[gnu::always_inline]] constexpr name<A> operator op(const A& a, At at) {                     \
    return {a, at.number};                                                                      \
  }                                                                                             \
  template <class A, class B>                                                                   \
  [[gnu::always_inline]] constexpr auto operator op(const name<A>& left, const B& b) {          \
    using R = std::decay_t<decltype(left.a op b)>;                                              \
    const R original = left.a op b;                                                             \
    if (std::is_constant_evaluated()) return original;                                          \
    if constexpr (requires { R(left.a changed b); } && (!(only_floats) || Scalar<R>::is_float)) \
      return pick<R>(left.number, original, R(left.a changed b));                               \
    no_change(left.number);                                                                     \
    return original;                                                                            \
  }
SURELINE_ARITHMETIC(Plus, +, -, false)
SURELINE_ARITHMETIC(Difference, -, +, false)
SURELINE_ARITHMETIC(Times, *, /, true)
SURELINE_ARITHMETIC(Over, /, *, true)

template <class A>
[[gnu::always_inline]] constexpr auto operator->*(Minus at, const A& a) {
  using R = std::decay_t<decltype(-a)>;
  if (std::is_constant_evaluated()) return R(-a);
  return pick<R>(at.number, -a, R(a));
}

// Of what is added to or taken from something.
template <class A>
[[gnu::always_inline]] constexpr A term(int number, const A& a) {
  if (std::is_constant_evaluated()) return a;
  if constexpr (requires { A(-a); }) return pick<A>(number, a, A(-a));
  no_change(number);
  return a;
}

// One side of && (which it is then true for) or of ||.
template <bool always>
[[gnu::always_inline]] constexpr bool side(int number, bool value) {
  if (std::is_constant_evaluated()) return value;
  return pick<bool>(number, value, always);
}
[[gnu::always_inline]] constexpr bool condition(int number, bool value) {
  if (std::is_constant_evaluated()) return value;
  return pick<bool>(number, value, !value);
}

template <class A, class B>
[[gnu::always_inline]] constexpr auto least(int number, const A& a, const B& b) {
  using R = std::common_type_t<A, B>;
  if (std::is_constant_evaluated()) return b < a ? R(b) : R(a);
  return pick<R>(number, b < a ? R(b) : R(a), b < a ? R(a) : R(b));
}
template <class A, class B>
[[gnu::always_inline]] constexpr auto largest(int number, const A& a, const B& b) {
  using R = std::common_type_t<A, B>;
  if (std::is_constant_evaluated()) return a < b ? R(b) : R(a);
  return pick<R>(number, a < b ? R(b) : R(a), a < b ? R(a) : R(b));
}

template <class T, int n>
struct Lanes;
#define SURELINE_LANES(T, n)                                    \
  template <>                                                   \
  struct Lanes<T, n> {                                          \
    typedef T type __attribute__((vector_size(n * sizeof(T)))); \
  };
SURELINE_LANES(double, 2)
SURELINE_LANES(double, 4)
SURELINE_LANES(double, 8)
SURELINE_LANES(float, 2)
SURELINE_LANES(float, 4)
SURELINE_LANES(float, 8)

}  // namespace mutation
