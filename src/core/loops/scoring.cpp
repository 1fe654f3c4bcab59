// Scores and variances of rows for one instruction set; the build chooses dense or sparse rows.
#include <type_traits>

#include "average/average.hpp"
#include "loops/learn.hpp"
#include "loops/loop.hpp"

namespace sureline::SURELINE_ISA {

namespace {

template <class Rows_, class Judge>
Outcome each_row(const Rows_& rows, const Rows& described, int64_t n_heads, double* out, const Judge& judge) {
  OwnRow<typename Rows_::Row> own;
  for (int64_t row = 0; row < rows.n_rows; ++row) {
    const auto stored = rows[row];
    auto x = stored.unchecked();
    Refusal refusal = own.admit(x, stored, described);
    if (refusal == Refusal::none) {
      judge(x, out);
      for (int64_t head = 0; head < n_heads; ++head)
        if (!finite(out[head])) refusal = finite(largest_size(x.values, x.n)) ? Refusal::score : Refusal::contents;
    }
    if (refusal != Refusal::none) return {refusal, row};
    out += n_heads;
  }
  return {};
}

template <class Rows_>
[[gnu::noinline]] Outcome score_by_average(const Rows_& rows, const Rows& described, const Model& model, double* out) {
  Averaging averaging(model, described.single);
  bool room = true;
  const Outcome outcome = each_row(rows, described, model.n_heads, out, [&](const auto& x, double* f) {
    room = room && copy_row(x, averaging) && averaging.predict(f, false);
    if (!room) f[0] = 0;
  });
  return room ? outcome : Outcome{.refusal = Refusal::memory};
}

// Combinations that do not occur in the space are not compiled.
template <class Space, class One, class All>
void if_one_head(const Space& space, const One& one, const All& all) {
  if constexpr (Space::kOneHead)
    one();
  else if constexpr (kMayHaveOneHead<Space>)
    space.n_heads == 1 ? one() : all();
  else
    all();
}

}  // namespace

template <class T, bool dense>
Outcome score(const Rows& described, const Model& model, const View& view, double* out) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  const int64_t n_heads = model.n_heads;
  return with_loop_rows<T, dense>(described, [&](const auto& rows) {
    if (model.average) return score_by_average(rows, described, model, out);
    if (!view.rounds)
      return with_margin_space(model, workspace, [&](const auto& space) {
        return each_row(rows, described, n_heads, out, [&](const auto& x, double* f) {
          if_one_head(space, [&] { f[0] = space.score(x, 0); }, [&] { space.scores(x, f); });
        });
      });
    if (is_dual(model.shape))
      return with_dual_space<T>(model, [&](const auto& space) {
        return each_row(rows, described, n_heads, out, [&](const auto& x, double* f) { space.scores(x, view, f); });
      });
    return with_coordinate_space(model, workspace, [&](const auto& space) {
      return each_row(rows, described, n_heads, out, [&](const auto& x, double* f) {
        if_one_head(space, [&] { f[0] = space.score(x, 0, view.of(0)); }, [&] { space.scores(x, view, f); });
      });
    });
  });
}

template <class T, bool dense>
Outcome variance(const Rows& described, const Model& model, const View&, double* out) {
  Workspace<T> workspace;
  if (!workspace.reserve(model)) return {.refusal = Refusal::memory};
  const int64_t n_heads = model.n_heads;
  return with_loop_rows<T, dense>(described, [&](const auto& rows) {
    return with_margin_space(model, workspace, [&](const auto& space) {
      return each_row(rows, described, n_heads, out, [&](const auto& x, double* v) {
        for (int64_t head = 0; head < n_heads; ++head) v[head] = space.variance(x, head, 0);
      });
    });
  });
}

template Outcome score<float, SURELINE_DENSE>(const Rows&, const Model&, const View&, double*);
template Outcome score<double, SURELINE_DENSE>(const Rows&, const Model&, const View&, double*);
template Outcome variance<float, SURELINE_DENSE>(const Rows&, const Model&, const View&, double*);
template Outcome variance<double, SURELINE_DENSE>(const Rows&, const Model&, const View&, double*);

}  // namespace sureline::SURELINE_ISA
