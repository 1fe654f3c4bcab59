// A reference to any callable, so that its caller is compiled once and not for each of them. A call is indirect: for
// use once a row or less often.
#pragma once

#include <utility>

namespace sureline {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  // Always inlined, since several instruction sets compile it under one name.
  template <class F>
  [[gnu::always_inline]] FunctionRef(const F& f)
      : of_(&f), call_([](const void* of, Arguments... arguments) {
          return (*static_cast<const F*>(of))(std::forward<Arguments>(arguments)...);
        }) {}
  [[gnu::always_inline]] Result operator()(Arguments... arguments) const {
    return call_(of_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* of_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace sureline
