// Arrays of NumPy, as functions take and return them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "refused.hpp"

namespace sureline::bindings {

namespace nb = nanobind;

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutputVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Scalars = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

enum class Scalar { float32, float64 };

inline bool is_single(const Input& array, const char* name) {
  if (array.dtype() == nb::dtype<float>()) return true;
  if (array.dtype() != nb::dtype<double>()) refuse(std::string(name) + " must be an array of float32 or float64.");
  return false;
}

template <class T>
using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;

template <class T>
NewArray<T> new_array(int64_t size) {
  T* data = new T[static_cast<size_t>(size)];
  return NewArray<T>(data, {size_t(size)}, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}

template <class T>
NewArray<T> as_array(const std::vector<T>& numbers) {
  NewArray<T> array = new_array<T>(int64_t(numbers.size()));
  std::copy(numbers.begin(), numbers.end(), array.data());
  return array;
}

}  // namespace sureline::bindings
