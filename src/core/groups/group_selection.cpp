#include "groups/group_ascent.hpp"

namespace sureline::groups {

namespace {

template <class T>
class SelectionOf final : public Selection {
 public:
  explicit SelectionOf(int64_t n_rows) : rows_(n_rows) {}

  Outcome add_groups(const Rows& rows, const double* C, const std::vector<int64_t>& columns,
                     const std::vector<int64_t>& sizes, int64_t most_bytes) override {
    return rows_.add_groups(rows, C, columns, sizes, most_bytes);
  }
  void gram(int64_t group, const double* weight, double* G) const override { rows_.gram(group, weight, G); }
  void set_covariance(const double* S) override { rows_.set_covariance(S); }

  Sweep sweep(const Batch& batch, const Objective& objective, const Duals& duals, double* scores,
              uint8_t* moved) const override {
    return has_covariance() ? Ascent<T, true>(rows_, objective, duals).sweep(batch, scores, moved)
                            : Ascent<T, false>(rows_, objective, duals).sweep(batch, scores, moved);
  }
  Value value(const Batch& batch, const Objective& objective, const Duals& duals, bool with_gap) const override {
    return has_covariance() ? Ascent<T, true>(rows_, objective, duals).value(batch, with_gap)
                            : Ascent<T, false>(rows_, objective, duals).value(batch, with_gap);
  }

  int64_t n_rows() const override { return rows_.n_rows; }
  int64_t n_groups() const override { return rows_.n_groups(); }
  int64_t n_ready() const override { return rows_.n_ready; }
  int64_t size(int64_t group) const override { return rows_.size(group); }
  int64_t nbytes() const override { return rows_.nbytes(); }
  bool has_covariance() const override { return !rows_.S.empty(); }

 private:
  SelectedRows<T> rows_;
};

}  // namespace

int64_t Selection::n_selected() const {
  int64_t n = 0;
  for (int64_t group = 0; group < n_groups(); ++group) n += size(group);
  return n;
}

std::unique_ptr<Selection> make_selection(int64_t n_rows, bool single) {
  if (single) return std::make_unique<SelectionOf<float>>(n_rows);
  return std::make_unique<SelectionOf<double>>(n_rows);
}

}  // namespace sureline::groups
