// Shared by the bindings that make many passes over the same rows.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>

#include "models.hpp"

namespace sureline::bindings {

using Numbers = nanobind::ndarray<double, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

inline void check_size(const char* name, size_t size, int64_t wanted) {
  if (int64_t(size) != wanted)
    refuse(std::string(name) + " must have " + std::to_string(wanted) + " entries, not " + std::to_string(size) + ".");
}

inline void check_order(const std::optional<Vector<int64_t>>& order, int64_t n_rows) {
  if (!order) return;
  for (size_t i = 0; i < order->size(); ++i)
    if (order->data()[i] < 0 || order->data()[i] >= n_rows) refuse("order names a row that is not there.");
}

}  // namespace sureline::bindings
