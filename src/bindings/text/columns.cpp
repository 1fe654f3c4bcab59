// What a stream asks of every chunk of columns, in one look and without a word of Python in between: a reader that
// stops to ask NumPy five times holds up the thread that learns five times.
#include <nanobind/ndarray.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "bindings.hpp"
#include "models.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline::bindings;

namespace {

template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
bool all_finite(const T* values, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const T infinity = std::numeric_limits<T>::infinity();
  Bits exponent;
  std::memcpy(&exponent, &infinity, sizeof exponent);
  Bits bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    Bits bits;
    std::memcpy(&bits, values + i, sizeof bits);
    bad |= Bits((bits & exponent) == exponent);
  }
  return bad == 0;
}

bool offsets_of(const int32_t* offsets, int64_t n_rows, size_t n_entries) {
  if (offsets[0] < 0 || size_t(offsets[n_rows]) > n_entries) return false;
  bool falls = false;
  for (int64_t row = 0; row < n_rows; ++row) falls |= offsets[row + 1] < offsets[row];
  return !falls;
}

// The width of rows that are as they should be, with where each begins in `starts`; -1 if anything is amiss.
template <class T>
int64_t list_rows(const Vector<int32_t>& indices, const Vector<int32_t>& index_offsets, const Vector<T>& values,
                  const Vector<int32_t>& value_offsets, const Out<int32_t>& starts) {
  if (index_offsets.size() == 0 || value_offsets.size() != index_offsets.size() ||
      starts.size() != index_offsets.size())
    refuse("The offsets and starts of the rows must be as many as there are rows, and one.");
  nb::gil_scoped_release release;
  const int64_t n_rows = int64_t(index_offsets.size()) - 1;
  const int32_t *of_index = index_offsets.data(), *of_value = value_offsets.data();
  if (!offsets_of(of_index, n_rows, indices.size()) || !offsets_of(of_value, n_rows, values.size())) return -1;
  bool differ = false;
  for (int64_t row = 0; row <= n_rows; ++row) {
    starts.data()[row] = of_index[row] - of_index[0];
    differ |= of_value[row] - of_value[0] != starts.data()[row];
  }
  if (differ || !all_finite(values.data() + of_value[0], of_value[n_rows] - of_value[0])) return -1;
  int32_t largest = -1;
  bool falls = false;
  for (int64_t row = 0; row < n_rows; ++row) {
    const int32_t begin = of_index[row], end = of_index[row + 1];
    if (begin == end) continue;
    const int32_t* at = indices.data();
    falls |= at[begin] < 0;
    for (int32_t i = begin + 1; i < end; ++i) falls |= at[i] <= at[i - 1];
    largest = largest < at[end - 1] ? at[end - 1] : largest;
  }
  return falls || largest == std::numeric_limits<int32_t>::max() ? -1 : int64_t(largest) + 1;
}

int64_t first_negative(const Vector<int32_t>& codes) {
  for (size_t row = 0; row < codes.size(); ++row)
    if (codes.data()[row] < 0) return int64_t(row);
  return -1;
}

int64_t recode(const Vector<int32_t>& codes, const Vector<int32_t>& table, const Out<int32_t>& classes) {
  if (classes.size() != codes.size()) refuse("There must be as many classes as codes.");
  int64_t changes = 0;
  for (size_t row = 0; row < codes.size(); ++row) {
    const int32_t code = codes.data()[row];
    if (code < 0 || size_t(code) >= table.size()) refuse("A code is not in the table.");
    classes.data()[row] = table.data()[code];
    changes += row > 0 && classes.data()[row] != classes.data()[row - 1];
  }
  return changes;
}

}  // namespace

void bind_columns(nb::module_& m) {
  const char* about =
      "The width of the rows that two list columns hold, and in `starts` where each begins; -1 if an offset, an index "
      "or a value is not as it should be, or the indices of a row do not ascend.";
  m.def("list_rows", &list_rows<float>, "indices"_a, "index_offsets"_a, "values"_a, "value_offsets"_a, "starts"_a,
        about);
  m.def("list_rows", &list_rows<double>, "indices"_a, "index_offsets"_a, "values"_a, "value_offsets"_a, "starts"_a,
        about);
  // These two keep the lock of the interpreter: it takes longer to get it back than to do the work.
  m.def("first_negative", &first_negative, "codes"_a, "The first row whose code is negative, or -1.");
  m.def("recode", &recode, "codes"_a, "table"_a, "classes"_a,
        "The class of each row by a table of the codes. Returns how often it is another one than that of the row "
        "before.");
}
