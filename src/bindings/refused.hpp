// The exception for a row that a loop refused, with the row and the reason.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>

#include "loops/kernels.hpp"

namespace sureline::bindings {

struct Refused : std::exception {
  explicit Refused(const Outcome& outcome_) : outcome(outcome_) {}
  const char* what() const noexcept override { return "A row was refused."; }
  const Outcome outcome;
};

// Raises Refused unless all rows were taken.
inline void check(const Outcome& outcome) {
  if (outcome.refusal != Refusal::none) throw Refused(outcome);
}

// An error in the arguments of a call: a ValueError.
[[noreturn]] inline void refuse(const std::string& message) { throw nanobind::value_error(message.c_str()); }

}  // namespace sureline::bindings
