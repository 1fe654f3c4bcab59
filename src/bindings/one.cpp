// One example at a time: what a call costs besides the learning itself counts here, so the arrays of a model are
// checked once and then kept, and a row is read from whatever Python holds it in.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "held_scales.hpp"
#include "models.hpp"
#include "text/murmur.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sureline;
using namespace sureline::bindings;

namespace {

constexpr int64_t kLargestColumn = 2147483646;

std::string shown(nb::handle object) {
  const std::string text = nb::repr(object).c_str();
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

[[noreturn]] void refuse_type(const std::string& message) { throw nb::type_error(message.c_str()); }

// A row that is being read. Columns in any order; once it is arranged they ascend, and none is there twice.
class Example {
 public:
  explicit Example(int bits) : columns_{text::Columns::signed_, bits} {}

  // A dict of names or column numbers with their values, a list of such pairs, or two arrays: columns and values.
  void read(nb::handle x) {
    indices_.clear(), values_.clear();
    named_ = numbered_ = false;
    if (PyDict_Check(x.ptr())) {
      PyObject *key, *value;
      Py_ssize_t at = 0;
      while (PyDict_Next(x.ptr(), &at, &key, &value)) add(key, value);
    } else if (PyTuple_Check(x.ptr()) && PyTuple_Size(x.ptr()) == 2 && nb::ndarray_check(nb::handle(x)[0])) {
      read_arrays(nb::handle(x)[0], nb::handle(x)[1]);
    } else if (PyList_Check(x.ptr()) || PyTuple_Check(x.ptr())) {
      for (nb::handle entry : x) {
        if (PyUnicode_Check(entry.ptr())) {
          add_named(entry.ptr(), 1.0);
        } else if (PyTuple_Check(entry.ptr()) && PyTuple_Size(entry.ptr()) == 2) {
          add(PyTuple_GetItem(entry.ptr(), 0), PyTuple_GetItem(entry.ptr(), 1));
        } else {
          refuse_type("A row as a list has pairs of a feature and its value, or names. Got " + shown(entry) + ".");
        }
      }
    } else {
      refuse_type("A row is a dict, a list of pairs, or a tuple of two arrays, columns and values. Got " + shown(x) +
                  ".");
    }
    if (named_ && columns_.bits == 0)
      refuse("This model's columns are no hashes of names: give features by the numbers of their columns.");
    if (named_ && numbered_) refuse("A row has names or column numbers, not both.");
    arrange();
  }

  int64_t width() const { return indices_.empty() ? 0 : int64_t(indices_.back()) + 1; }
  bool named() const { return named_; }
  int64_t size() const { return int64_t(indices_.size()); }
  const std::vector<int32_t>& indices() const { return indices_; }
  const std::vector<double>& values() const { return values_; }
  void cut(int64_t n_columns) {  // leave out the columns from n_columns on
    while (!indices_.empty() && indices_.back() >= n_columns) indices_.pop_back();
    values_.resize(indices_.size());
  }

 private:
  void add(PyObject* key, PyObject* value) {
    if (PyUnicode_Check(key)) {
      if (PyUnicode_Check(value)) {  // as scikit-learn's FeatureHasher has it
        const auto [name, length] = utf8(key);
        const auto [text, text_length] = utf8(value);
        joined_.assign(name, length).append(1, '=').append(text, text_length);
        named_ = true;
        push(text::murmur3(joined_.data(), joined_.size(), 0), 1.0);
      } else {
        add_named(key, number(key, value));
      }
    } else {
      add_numbered(key, number(key, value));
    }
  }

  void add_named(PyObject* name, double value) {
    const auto [data, length] = utf8(name);
    named_ = true;
    if (value != 0) push(text::murmur3(data, length, 0), value);
  }

  void push(uint32_t hash, double value) {
    indices_.push_back(columns_.column(hash));
    values_.push_back(columns_.sign(hash) * value);
  }

  void add_numbered(PyObject* key, double value) {
    int64_t column = -1;
    if (PyLong_Check(key) || PyIndex_Check(key)) {
      column = PyNumber_AsSsize_t(key, nullptr);
      if (column == -1 && PyErr_Occurred()) PyErr_Clear();
    } else {
      refuse_type("A feature is named by text or by the number of its column. Got " + shown(key) + ".");
    }
    check_column(column);
    numbered_ = true;
    indices_.push_back(int32_t(column)), values_.push_back(value);
  }

  static void check_column(int64_t column) {
    if (column < 0 || column > kLargestColumn)
      refuse("The column " + std::to_string(column) + " is outside 0 to " + std::to_string(kLargestColumn) + ".");
  }

  static double number(PyObject* key, PyObject* value) {
    const double x = PyFloat_AsDouble(value);
    if (x == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      refuse_type("The value of the feature " + shown(key) + " must be a number. Got " + shown(value) + ".");
    }
    if (!std::isfinite(x)) refuse("The value of the feature " + shown(key) + " is " + shown(value) + ", not finite.");
    return x;
  }

  static std::pair<const char*, size_t> utf8(PyObject* text) {
    Py_ssize_t length = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text, &length);
    if (!data) {
      PyErr_Clear();
      refuse("The name " + shown(text) + " cannot be encoded as UTF-8.");
    }
    return {data, size_t(length)};
  }

  template <class I, class V>
  void copy(const nb::ndarray<nb::ro>& columns, const nb::ndarray<nb::ro>& values) {
    const char* c = static_cast<const char*>(columns.data());
    const char* v = static_cast<const char*>(values.data());
    const int64_t c_stride = columns.stride(0) * int64_t(sizeof(I)), v_stride = values.stride(0) * int64_t(sizeof(V));
    const size_t n = columns.shape(0);
    indices_.resize(n), values_.resize(n);
    for (size_t i = 0; i < n; ++i, c += c_stride, v += v_stride) {
      I column;
      V value;
      std::memcpy(&column, c, sizeof(I)), std::memcpy(&value, v, sizeof(V));
      if (column < 0 || int64_t(column) > kLargestColumn) check_column(int64_t(column));
      indices_[i] = int32_t(column), values_[i] = double(value);
    }
  }

  void read_arrays(nb::handle columns_object, nb::handle values_object) {
    nb::ndarray<nb::ro> columns, values;
    if (!nb::try_cast(columns_object, columns, false) || !nb::try_cast(values_object, values, false))
      refuse_type("Columns and values must both be arrays. Got " + shown(values_object) + ".");
    if (columns.ndim() != 1 || values.ndim() != 1 || columns.shape(0) != values.shape(0))
      refuse("Columns and values must be vectors of one length.");
    const auto c = columns.dtype(), v = values.dtype();
    const bool c32 = c == nb::dtype<int32_t>(), v32 = v == nb::dtype<float>();
    if ((!c32 && c != nb::dtype<int64_t>()) || (!v32 && v != nb::dtype<double>()))
      refuse_type("Columns must be int32 or int64, and values float32 or float64.");
    if (c32)
      v32 ? copy<int32_t, float>(columns, values) : copy<int32_t, double>(columns, values);
    else
      v32 ? copy<int64_t, float>(columns, values) : copy<int64_t, double>(columns, values);
    numbered_ = true;
  }

  void arrange() {
    const size_t n = indices_.size();
    size_t sorted = 1;
    while (sorted < n && indices_[sorted - 1] < indices_[sorted]) ++sorted;
    if (sorted >= n) return;
    sort_order(n);
    copy_ = values_;
    size_t written = 0;
    for (const uint64_t key : order_) {
      const int32_t column = int32_t(key >> 32);
      const double value = copy_[key & 0xffffffffu];
      if (written && indices_[written - 1] == column)
        values_[written - 1] += value;
      else
        indices_[written] = column, values_[written++] = value;
    }
    indices_.resize(written), values_.resize(written);
  }

  // Positions by column. Hashes are uniform: with as many buckets as columns, by their first bits, each bucket has
  // about one, and a sort by insertion has little left to do. Where they are not, it would have too much.
  void sort_order(size_t n) {
    order_.resize(n);
    for (size_t i = 0; i < n; ++i) order_[i] = uint64_t(uint32_t(indices_[i])) << 32 | i;
    if (n > 16 && named_) {
      const int wanted = std::min(int(std::bit_width(n)), 12), shift = 32 + std::max(0, columns_.bits - wanted);
      counts_.assign((size_t(1) << wanted) + 1, 0);
      for (const uint64_t key : order_) ++counts_[(key >> shift) + 1];
      uint32_t largest = 0;
      for (size_t b = 1; b < counts_.size(); ++b) largest = std::max(largest, counts_[b]), counts_[b] += counts_[b - 1];
      if (largest <= 16) {
        spare_.resize(n);
        for (const uint64_t key : order_) spare_[counts_[key >> shift]++] = key;
        order_.swap(spare_);
        for (size_t i = 1; i < n; ++i) {
          const uint64_t key = order_[i];
          size_t j = i;
          for (; j > 0 && order_[j - 1] > key; --j) order_[j] = order_[j - 1];
          order_[j] = key;
        }
        return;
      }
    }
    std::sort(order_.begin(), order_.end());
  }

  const text::Columns columns_;
  bool named_ = false, numbered_ = false;
  std::vector<int32_t> indices_;
  std::vector<double> values_, copy_;
  std::vector<uint64_t> order_, spare_;
  std::vector<uint32_t> counts_;
  std::string joined_;
};

// Two arrays, columns and values, that the loops can read where they are: in one piece, of the dtype of the model.
class ArraysInPlace {
 public:
  ArraysInPlace(PyObject* x, bool single) {
    if (!PyTuple_Check(x) || PyTuple_Size(x) != 2) return;
    PyObject* const columns = PyTuple_GetItem(x, 0);
    if (PyTuple_Check(columns) || PyUnicode_Check(columns) || PyList_Check(columns)) return;
    if (!open(columns, columns_)) return;
    if (open(PyTuple_GetItem(x, 1), values_)) {
      const bool narrow = is(columns_, "i", 4);
      fits_ = (narrow || is(columns_, "l", 8) || is(columns_, "q", 8)) &&
              (single ? is(values_, "f", 4) : is(values_, "d", 8)) && columns_.shape[0] == values_.shape[0] &&
              columns_.shape[0] < (int64_t(1) << 31);
      wide_ = !narrow;
      if (fits_) return;
      PyBuffer_Release(&values_);
    }
    PyBuffer_Release(&columns_);
  }
  ~ArraysInPlace() {
    if (!fits_) return;
    PyBuffer_Release(&values_);
    PyBuffer_Release(&columns_);
  }
  ArraysInPlace(const ArraysInPlace&) = delete;
  ArraysInPlace& operator=(const ArraysInPlace&) = delete;

  explicit operator bool() const { return fits_; }
  int64_t size() const { return columns_.shape[0]; }

  // The row, or nothing if its last column is beyond; whether the others ascend to it, the loops look at.
  std::optional<Rows> row(int64_t n_columns, bool single, int64_t* starts) const {
    const int64_t n = columns_.shape[0];
    if (n > 0) {
      const int64_t last =
          wide_ ? static_cast<const int64_t*>(columns_.buf)[n - 1] : static_cast<const int32_t*>(columns_.buf)[n - 1];
      if (last >= n_columns) return {};
    }
    if (wide_) {
      starts[0] = 0, starts[1] = n;
    } else {
      int32_t narrow[2] = {0, int32_t(n)};
      std::memcpy(starts, narrow, sizeof(narrow));
    }
    return Rows{
        wide_ ? Rows::Layout::csr64 : Rows::Layout::csr32, single, values_.buf, columns_.buf, starts, 1, n_columns};
  }

 private:
  static bool open(PyObject* object, Py_buffer& view) {
    if (PyObject_GetBuffer(object, &view, PyBUF_ND | PyBUF_FORMAT) == 0) {  // in one piece, or not at all
      if (view.ndim == 1 && view.format && reinterpret_cast<uintptr_t>(view.buf) % size_t(view.itemsize) == 0)
        return true;
      PyBuffer_Release(&view);
    } else {
      PyErr_Clear();
    }
    return false;
  }
  static bool is(const Py_buffer& view, const char* format, Py_ssize_t size) {
    return view.itemsize == size && std::strcmp(view.format, format) == 0;
  }
  Py_buffer columns_, values_;
  bool fits_ = false, wide_ = false;
};

// A model that takes one example at a time. The arrays are those of a State, and are written in place.
class OneByOne {
 public:
  OneByOne(nb::object rule, const std::string& shape, const Output& weights, const std::optional<Output>& factors,
           const Scalars& memory, const Counts& tally, nb::object beside, int64_t n_columns, int64_t n_heads,
           bool intercept, const std::string& policy, const std::optional<std::tuple<double, double>>& cost,
           nb::object rounds, int bits, nb::object scales)
      : example_(bits),
        rule_(rule),
        beside_(beside),
        rounds_(rounds),
        scales_owner_(scales),
        weights_(weights),
        factors_(factors),
        memory_(memory),
        tally_(tally),
        n_columns_(n_columns),
        bits_(bits) {
    if (bits < 0 || bits > text::Columns::kMostBits) refuse("bits must be from 0 to 30.");
    model_ = checked_model(shape, weights, factors, n_heads, intercept);
    single_ = is_single(Input(weights), "weights");
    task_.policy = checked_policy(policy, n_heads);
    if (n_columns < 0 || n_columns + 1 > model_.n_slots ||
        (has_factors(model_.shape) && n_columns + 1 != model_.n_slots))
      refuse("n_columns does not fit weights.");
    if (nb::isinstance<Rule>(rule)) {
      task_.rule = nb::cast<const Rule*>(rule);
      if (!fits(*task_.rule, model_.shape)) refuse("The rule does not fit the shape.");
    } else if (nb::isinstance<DualRule>(rule)) {
      task_.dual_rule = nb::cast<const DualRule*>(rule);
      if (!fits(*task_.dual_rule, model_.shape)) refuse("The rule does not fit the shape.");
    } else {
      task_.coordinate_rule = nb::cast<const CoordinateRule*>(rule);
      if (!fits(*task_.coordinate_rule, model_.shape)) refuse("The rule does not fit the shape.");
    }
    const int64_t n_problems = task_.policy == Policy::one_vs_rest ? n_heads : 1;
    const int64_t n_classes = n_heads == 1 ? 2 : n_heads;
    if (int64_t(memory.shape(1)) != kMemoryColumns || int64_t(memory.shape(0)) != n_problems ||
        int64_t(tally.shape(1)) * int64_t(sizeof(int64_t)) != int64_t(sizeof(Tally)) ||
        int64_t(tally.shape(0)) != n_classes)
      refuse("memory or tally do not fit the policy.");
    memory_now_.resize(size_t(n_problems)), tally_now_.resize(size_t(n_classes));
    scores_.resize(size_t(n_heads));
    set_beside(task_, nb::cast<Beside>(beside), model_);
    if (rounds.is_none() != (model_.shape < Shape::averaged)) refuse("rounds does not fit the shape.");
    if (!rounds.is_none()) {
      for (nb::handle round : rounds) round_of_.push_back(nb::cast<Round*>(round));
      if (int64_t(round_of_.size()) != n_problems) refuse("rounds does not fit the policy.");
    }
    if (cost)
      std::tie(task_.cost[0], task_.cost[1]) = *cost;
    else
      task_.balanced = true;
    // What a refused row would leave behind is taken back; where there is no journal, whoever calls works on a copy.
    task_.journal = !has_factors(model_.shape) && model_.shape != Shape::simplex &&
                    (task_.policy == Policy::one_vs_rest || model_.shape == Shape::confident || task_.dual_rule);
    if (task_.policy == Policy::regression) task_.targets = &target_;
    if (!scales.is_none()) scales_ = nb::cast<Scales*>(scales);
    task_.labels = &label_;
    task_.sample_weight = &weight_;
    task_.memory = memory_now_.data(), task_.tally = tally_now_.data();
  }

  // 0, or the number of columns that the model must have before it can learn from this row.
  int64_t learn(nb::handle x, int32_t label, double weight, double target) {
    if (!std::isfinite(target)) refuse("y must be a finite number. Got " + std::to_string(target) + " instead.");
    if (label < 0 || label >= int32_t(tally_now_.size())) refuse("There is no such class.");
    if (!std::isfinite(weight) || weight < 0)
      refuse("sample_weight must be finite and not negative. Got " + std::to_string(weight) + " instead.");
    label_ = label, weight_ = weight, target_ = target;
    if (const ArraysInPlace arrays(x.ptr(), single_); arrays) {
      if (const auto row = arrays.row(n_columns_, single_, starts_in_place_)) {
        task_.rows = *row;
        const Outcome outcome = learn_rows(arrays.size());
        if (outcome.refusal == Refusal::none) return 0;
        if (outcome.refusal != Refusal::order && outcome.refusal != Refusal::contents) refuse_outcome(outcome);
        // Columns in another order, or something wrong that is described when the row is read with care.
      }
    }
    example_.read(x);
    const int64_t width = width_asked();
    if (width > n_columns_) return width;
    task_.rows = rows();
    refuse_outcome(learn_rows(example_.size()));
    return 0;
  }

  // w.x for each head, without the scales. Columns that the model does not have count for nothing.
  std::vector<double> scores(nb::handle x) {
    example_.read(x);
    if (!scales_) example_.cut(n_columns_);
    rounds_now_.clear();
    for (const Round* round : round_of_) rounds_now_.push_back(*round);
    const View view{rounds_now_.data(), int64_t(rounds_now_.size())};
    Rows row = rows();
    if (scales_) {  // of all of its columns
      row.n_columns = kLargestColumn + 1;
      refuse_outcome(normalize(row, false, example_.size()));
      row.n_columns = n_columns_;
      const auto& columns = example_.indices();
      starts_[1] = int32_t(std::lower_bound(columns.begin(), columns.end(), n_columns_) - columns.begin());
    }
    refuse_outcome(kernels(single_).score(row, model_, view, scores_.data()));
    return scores_;
  }

 private:
  // The turn of the row in the task, which has n values. Nothing changes if it is refused.
  Outcome learn_rows(int64_t n) {
    if (scales_)
      if (const Outcome outcome = normalize(task_.rows, true, n); outcome.refusal != Refusal::none) return outcome;
    std::memcpy(static_cast<void*>(memory_now_.data()), memory_.data(), memory_.nbytes());
    std::memcpy(static_cast<void*>(tally_now_.data()), tally_.data(), tally_.nbytes());
    checkpoint(task_);
    const Outcome outcome = kernels(single_).learn(task_, model_);
    commit_or_roll_back(task_, outcome.refusal != Refusal::none);
    if (outcome.refusal == Refusal::none) {
      std::memcpy(memory_.data(), static_cast<const void*>(memory_now_.data()), memory_.nbytes());
      std::memcpy(tally_.data(), static_cast<const void*>(tally_now_.data()), tally_.nbytes());
      look();
    } else if (scales_) {
      scales_->undo();
    }
    return outcome;
  }

  // The row divided, in values of our own.
  Outcome normalize(Rows& row, bool absorb, int64_t n) {
    divided_.resize(size_t(n));
    const Outcome outcome = scales_->pass(row, divided_.data(), absorb, nullptr, 0, absorb ? &weight_ : nullptr, n,
                                          /*undoable=*/true, /*release_gil=*/false);
    row.values = divided_.data();
    return outcome;
  }

  int64_t width_asked() const { return example_.named() ? int64_t(1) << bits_ : example_.width(); }

  Rows rows() {
    starts_[1] = int32_t(example_.size());
    const void* values = example_.values().data();
    if (single_) {
      single_values_.assign(example_.values().begin(), example_.values().end());
      values = single_values_.data();
    }
    return {Rows::Layout::csr32, single_, values, example_.indices().data(), starts_, 1, n_columns_};
  }

  void refuse_outcome(const Outcome& outcome) const {
    if (outcome.refusal == Refusal::none) return;
    if (outcome.refusal == Refusal::memory) throw std::bad_alloc();
    refuse(outcome.refusal == Refusal::contents
               ? "The row has a value that is too large for the dtype of the model."
               : "The row needs a score or a step that the model cannot hold; scale the values so that they are of the "
                 "order of 1, and keep sample_weight and the parameters moderate.");
  }

  // The weights from now on are those of the next round. The same is done by State.look for whole batches.
  void look() {
    for (size_t problem = 0; problem < round_of_.size(); ++problem) {
      if (task_.dual_rule) {
        *round_of_[problem] = task_.dual_rule->round(task_.dual->problems[problem]);
        continue;
      }
      const Memory& now = memory_now_[problem];
      Round round = task_.coordinate_rule->round(now.t + 1, now.cut);
      round.threshold = task_.budget ? task_.budget->threshold
                        : single_    ? double(float(round.threshold))
                                     : round.threshold;
      *round_of_[problem] = round;
    }
  }

  Example example_;
  const nb::object rule_, beside_, rounds_, scales_owner_;  // keep them alive
  Scales* scales_ = nullptr;                                // or null, if rows are learned from as they are
  const Output weights_;
  const std::optional<Output> factors_;
  const Scalars memory_;
  const Counts tally_;
  const int64_t n_columns_;
  const int bits_;
  bool single_ = false;
  Model model_;
  Task task_;
  int32_t label_ = 0, starts_[2] = {0, 0};
  int64_t starts_in_place_[2] = {0, 0};
  double weight_ = 1, target_ = 0;
  std::vector<Memory> memory_now_;
  std::vector<Tally> tally_now_;
  std::vector<Round*> round_of_;
  std::vector<Round> rounds_now_;
  std::vector<double> scores_;
  std::vector<float> single_values_;
  std::vector<double> divided_;  // or floats, in half of it
};

}  // namespace

void bind_one(nb::module_& m) {
  m.def(
      "read_row",
      [](nb::handle x, int bits) {
        if (bits < 0 || bits > text::Columns::kMostBits) refuse("bits must be from 0 to 30.");
        Example example(bits);
        example.read(x);
        return std::make_tuple(example.indices(), example.values(), example.named());
      },
      "x"_a.none(), "bits"_a, "Columns, ascending, and values of a row, and whether its features are named.");
  nb::class_<OneByOne>(m, "OneByOne", "A model that takes one example at a time, in place.")
      .def(nb::init<nb::object, const std::string&, const Output&, const std::optional<Output>&, const Scalars&,
                    const Counts&, nb::object, int64_t, int64_t, bool, const std::string&,
                    const std::optional<std::tuple<double, double>>&, nb::object, int, nb::object>(),
           "rule"_a, "shape"_a, "weights"_a, "factors"_a.none(), "memory"_a, "tally"_a, "beside"_a.none(),
           "n_columns"_a, "n_heads"_a, "intercept"_a, "policy"_a, "cost"_a.none(), "rounds"_a.none(), "bits"_a,
           "scales"_a.none() = nb::none())
      .def("learn", &OneByOne::learn, "x"_a.none(), "label"_a, "weight"_a = 1.0, "target"_a = 0.0,
           "Learn from a row. Returns 0, or the width that the model needs first.")
      .def("scores", &OneByOne::scores, "x"_a.none(), "w.x for each head, without the scales.");
}
