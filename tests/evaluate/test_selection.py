"""Selectors with an l1 penalty by the number of features, and several selectors compared."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_bad_input import CORRUPT, corrupt

from sureline import AROW, L1SVM, SparseDCA, feature_path
from sureline.datasets import make_correlated_groups
from sureline.estimators.penalty_search import search_penalty
from sureline.selection import FeaturePath, jaccard, stability

SELECTORS = [SparseDCA, L1SVM]


def groups(n: int = 400, d: int = 300, **more):
    settings = {"n_relevant": 20, "n_decoys": 20, "density": 0.1, "random_state": 0, **more}
    return make_correlated_groups(n, d, **settings)


# -- the search for a penalty ---------------------------------------------------------------------------------


def steps(*counts_at: tuple[float, int]):
    """A fit that leaves `count` features where the penalty is at most the strength, and remembers what it was asked."""
    asked = []

    def fit(strength: float) -> tuple[int, float]:
        asked.append(strength)
        return next((count for limit, count in counts_at if strength <= limit), 0), strength

    return fit, asked


@pytest.mark.parametrize("start", [1e-3, 0.3, 1.0, 30.0])
@pytest.mark.parametrize("n_features", [1, 7, 30, 49])
def test_the_search_finds_exactly_what_is_there(start: float, n_features: int) -> None:
    fit, asked = steps(*((0.8**k, k) for k in range(100, 0, -1)))
    found, n_fits = search_penalty(fit, n_features, start, "Nobody")
    assert found.count == n_features
    assert found.model == found.strength
    assert n_fits == len(asked) <= 30


def test_the_search_takes_the_fewest_that_are_enough() -> None:
    """Where the number jumps over the wanted one, to be cut down by the caller."""
    fit, asked = steps((0.01, 400), (0.2, 57), (0.5, 12))
    found, _ = search_penalty(fit, 30, 1.0, "Nobody")
    assert found.count == 57
    assert found.strength == pytest.approx(0.2, rel=0.01)
    assert len(asked) <= 25


def test_the_search_is_content_with_two_percent_more() -> None:
    fit, asked = steps(*((0.999**k, k) for k in range(5000, 0, -1)))
    found, _ = search_penalty(fit, 1000, 1.0, "Nobody")
    assert 1000 <= found.count <= 1020
    assert len(asked) < 15


def test_a_number_that_does_not_fall_steadily_does_no_harm() -> None:
    rng = np.random.default_rng(0)
    asked = []

    def fit(strength: float) -> tuple[int, float]:
        asked.append(strength)
        return max(0, round(-50 * np.log(strength)) + int(rng.integers(-9, 10))), strength

    counts = []
    for n_features in (5, 40, 300):
        asked.clear()
        found, _ = search_penalty(fit, n_features, 1.0, "Nobody")
        assert found.count >= n_features
        assert len(asked) <= 30
        counts.append(found.count - n_features)
    assert max(counts) <= 10


def test_a_number_that_cannot_be_reached() -> None:
    fit, asked = steps((0.1, 12))
    with pytest.raises(ValueError, match="'n_features' parameter of Somebody must be at most 12 here: with"):
        search_penalty(fit, 13, 1.0, "Somebody")
    assert len(asked) < 12


# -- the selectors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", SELECTORS)
@pytest.mark.parametrize("n_features", [1, 10, 33])
@pytest.mark.parametrize("layout", [sparse.csr_matrix, lambda X: X.toarray()], ids=["csr", "dense"])
def test_they_select_as_many_as_they_are_asked_for(make, n_features: int, layout) -> None:
    X, y, relevant = groups()
    model = make(n_features=n_features, random_state=0, normalize="none").fit(layout(X), y)
    columns = model.get_support(indices=True)
    assert len(columns) == n_features
    np.testing.assert_array_equal(columns, np.flatnonzero(model.get_support()))
    assert model.transform(layout(X)).shape == (400, n_features)
    assert model.n_fits_ > 1
    if n_features == 10:
        assert np.isin(columns, relevant).mean() >= 0.8
        assert model.score(X, y) > 0.75


@pytest.mark.parametrize("make", SELECTORS)
def test_with_more_classes_the_largest_over_all_of_them_are_kept(make) -> None:
    X, _, relevant = groups(600)
    dense = X.toarray()
    y = np.digitize(dense[:, relevant[:5]].sum(axis=1) - dense[:, relevant[5:10]].sum(axis=1), [-1, 1])
    model = make(n_features=15, random_state=0, normalize="none").fit(X, y)
    assert model.coef_.shape == (3, 300)
    assert (model.coef_ != 0).any(axis=0).sum() == 15
    assert model.get_support().sum() == 15
    weaker = {"lam": model.lam_} if make is SparseDCA else {"C": model.C_}
    free = make(**weaker, random_state=0, normalize="none").fit(X, y)
    if make is L1SVM:  # its fit depends on nothing but the penalty
        norms = np.linalg.norm(free.coef_, axis=0)
        np.testing.assert_array_equal(model.get_support(), norms >= np.sort(norms)[-15])
        np.testing.assert_array_equal(model.coef_[:, model.get_support()], free.coef_[:, model.get_support()])
    assert free.get_support().sum() >= 13


@pytest.mark.parametrize("make", SELECTORS)
def test_useful_features_can_be_too_few(make) -> None:
    X, y, _ = groups(100)
    X = sparse.hstack([X[:, :8], sparse.csr_matrix((100, 20))], format="csr")
    with pytest.raises(ValueError, match=f"'n_features' parameter of {make.__name__} must be at most [1-8] here"):
        make(n_features=12, random_state=0, normalize="none").fit(X, y)


def test_an_l1_svm_is_that_of_scikit_learn() -> None:
    X, y, _ = groups()
    weight = np.random.default_rng(0).choice([0.5, 1, 2], len(y))
    model = L1SVM(0.3, random_state=0, normalize="none").fit(X, y, weight)
    svm = LinearSVC(penalty="l1", dual=False, C=0.3, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, svm.coef_)
    np.testing.assert_array_equal(model.intercept_, svm.intercept_)
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(X), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), svm.predict(X))
    assert model.C_ == 0.3
    assert model.n_iter_ == svm.n_iter_
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(L1SVM(0.3, random_state=0, normalize="none").fit(wide, y, weight).coef_, svm.coef_)


def test_an_l1_svm_warns_of_the_fit_that_it_keeps_alone() -> None:
    X, y, _ = groups()
    with pytest.warns(ConvergenceWarning, match="L1SVM stopped after 1 passes before it had converged") as caught:
        L1SVM(n_features=20, max_iter=1, tol=1e-9, random_state=0, normalize="none").fit(X, y)
    assert len(caught) == 1


@pytest.mark.parametrize("kind", CORRUPT)
def test_nothing_corrupt_reaches_liblinear(kind: str) -> None:
    y = np.arange(20) % 2
    for model in (L1SVM(1.0, normalize="none"), L1SVM(n_features=2, normalize="none")):
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            model.fit(corrupt(kind), y)


def test_by_default_the_losses_count_as_much_for_both() -> None:
    X, y, _ = groups(60)
    svm, dca = L1SVM(random_state=0).fit(X, y), SparseDCA(loss="squared_hinge", random_state=0).fit(X, y)
    assert svm.C_ == 1.0
    assert dca.lam_ == 1 / len(y)  # |w|_1 + C sum loss, divided by n C
    assert (svm.predict(X) == dca.predict(X)).mean() > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 1.0, "n_features": 2}, "L1SVM takes one of the parameters 'C' and 'n_features', not both"),
        ({"C": 0.0}, "The 'C' parameter of L1SVM must be a float in the range \\(0, inf\\) or None. Got 0.0"),
        (
            {"n_features": 301},
            "'n_features' parameter of L1SVM must be at most the number of columns of X, 300. Got 301",
        ),
    ],
)
def test_parameters_of_the_l1_svm(parameters, message: str) -> None:
    X, y, _ = groups(60)
    with pytest.raises(ValueError, match=message):
        L1SVM(**parameters, normalize="none").fit(X, y)


TOLERANCE = "Both fits are within `tol` of the same optimum, and not within 1e-7 of each other."
ONE_FEATURE = "The classes of this check cannot be told apart by one feature, and that is all that was asked for."
ONE_PENALTY = (
    "The penalty that leaves one feature leaves no intercept with three classes, and a boundary through the origin "
    "goes through the middle of the noise of this check, whatever a class is worth."
)


def expected_failures(estimator) -> dict[str, str]:
    failures = {
        "check_sample_weight_equivalence_on_dense_data": TOLERANCE,
        "check_sample_weight_equivalence_on_sparse_data": TOLERANCE,
    }
    if estimator.n_features is not None:
        failures["check_classifiers_train"] = ONE_FEATURE
        failures["check_class_weight_classifiers"] = ONE_PENALTY
    return failures


# The rows of some checks are far from zero, which takes these solvers many passes; those are in test_sparse_dca.
# On a common scale such columns hardly vary: the penalty may then leave none of them, with a warning.
# Not strict: with one feature the weights may happen to be the same.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:No feature is selected")
@parametrize_with_checks(
    [
        SparseDCA(),
        L1SVM(),
        SparseDCA(0.01, random_state=0, normalize="none"),
        SparseDCA(0.001, loss="squared_hinge", shuffle=False, normalize="none"),
        SparseDCA(n_features=1, random_state=0, normalize="none"),
        L1SVM(1.0, random_state=0, normalize="none"),
        L1SVM(n_features=1, random_state=0, normalize="none"),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=False,
)
def test_estimator(estimator, check) -> None:
    check(estimator)


def test_in_a_pipeline_and_a_search() -> None:
    X, y, _ = groups()
    names = [f"f{j}" for j in range(300)]
    frame = pd.DataFrame(X.toarray(), columns=names)
    search = GridSearchCV(
        make_pipeline(SparseDCA(random_state=0, normalize="none"), AROW(passes=3, normalize="none")),
        {"sparsedca__n_features": [5, 20]},
        cv=3,
    ).fit(frame, y)
    assert search.best_score_ > 0.75
    selector = search.best_estimator_[0]
    kept = selector.get_feature_names_out()
    np.testing.assert_array_equal(kept, np.array(names)[selector.get_support(indices=True)])
    selector.set_output(transform="pandas")
    assert selector.transform(frame).columns.tolist() == kept.tolist()


# -- several selectors ----------------------------------------------------------------------------------------


class Fixed(LogisticRegression):
    """Selects the first columns, whatever comes; not one of ours."""

    def __init__(self, n_features: int = 1, fail_at: int = -1) -> None:
        super().__init__()
        self.n_features, self.fail_at = n_features, fail_at

    def fit(self, X, y):
        if self.n_features == self.fail_at:
            raise ValueError("there is no luck today.")
        return super().fit(X[:, : self.n_features], y)

    def predict(self, X):
        return super().predict(X[:, : self.n_features])

    def get_support(self, indices: bool = False):
        return np.arange(self.n_features)


def test_a_path() -> None:
    X, y, _ = groups(600)
    lines: list[str] = []
    selectors = {
        "first": Fixed(),
        "dca": SparseDCA(random_state=0, normalize="none"),
        "svm": L1SVM(random_state=0, normalize="none"),
    }
    path = feature_path(selectors, X, y, [20, 5, 5], random_state=0, progress=lines.append)
    assert isinstance(path, FeaturePath)
    assert path.selectors == ["first", "dca", "svm"]
    assert [(p.selector, p.n_features) for p in path.points] == [(s, n) for s in path.selectors for n in (5, 20)]
    assert (path.n_train, path.n_test, path.n_columns) == (450, 150, 300)
    assert all(p.n_selected == p.n_features == len(p.columns) for p in path.points)
    assert all(p.seconds > 0 and p.jaccard is None for p in path.points)
    by_name = {name: path.of(name)[1] for name in path.selectors}
    assert by_name["dca"].accuracy > 0.75 > by_name["first"].accuracy
    np.testing.assert_array_equal(path.selected("first", 5), np.arange(5))
    assert len(lines) == 6
    assert lines[0].startswith("first, 5 features: accuracy 0.")
    assert selectors["dca"].n_features is None  # it was cloned
    again = feature_path(selectors, X.tocsc(), y, [5, 20], random_state=0)
    assert [p.accuracy for p in again.points] == [p.accuracy for p in path.points]


def test_the_accuracies_are_those_of_the_selectors_own_predictions() -> None:
    X, y, _ = groups(600)
    train, test = slice(400), slice(400, None)
    path = feature_path(
        SparseDCA(random_state=0, normalize="none"), X[train], y[train], 10, X_test=X[test], y_test=y[test]
    )
    (point,) = path.points
    model = SparseDCA(n_features=10, random_state=0, normalize="none").fit(X[train], y[train])
    assert point.selector == "SparseDCA"
    assert point.accuracy == pytest.approx(model.score(X[test], y[test]))
    recalls = [(model.predict(X[test]) == y[test])[y[test] == label].mean() for label in (0, 1)]
    assert point.balanced_accuracy == pytest.approx(np.mean(recalls))
    np.testing.assert_array_equal(point.columns, model.get_support(indices=True))
    assert (path.n_train, path.n_test) == (400, 200)


def test_stability_over_resamples() -> None:
    X, y, _ = groups(300, 100)
    selectors = {"first": Fixed(), "svm": L1SVM(random_state=0, normalize="none")}
    path = feature_path(selectors, X, y, [10], resamples=3, random_state=0)
    first, svm = path.points
    assert (first.jaccard, first.stability) == (1, 1)
    assert 0.05 < svm.jaccard < svm.stability < 1
    assert path.resamples == 3
    assert list(path.table()[0])[-2:] == ["jaccard", "stability"]
    again = feature_path(selectors, X, y, [10], resamples=3, random_state=0)
    assert again.points[1].jaccard == svm.jaccard


def test_measures_of_stability() -> None:
    rng = np.random.default_rng(0)
    sets = [rng.choice(50, 20, replace=False) for _ in range(6)]
    Z = np.zeros((6, 50))
    for row, columns in zip(Z, sets, strict=True):
        row[columns] = 1
    # The formula of the paper, column by column, and the pairs one by one.
    k = Z.sum(axis=1).mean()
    assert stability(sets, 50) == pytest.approx(1 - Z.var(axis=0, ddof=1).mean() / (k / 50 * (1 - k / 50)))
    pairs = [(Z[i] * Z[j]).sum() / np.maximum(Z[i], Z[j]).sum() for i in range(6) for j in range(i)]
    assert jaccard(sets) == pytest.approx(np.mean(pairs))
    by_chance = [stability([rng.choice(50, 20, replace=False) for _ in range(10)], 50) for _ in range(200)]
    assert np.mean(by_chance) == pytest.approx(0, abs=0.01)
    assert jaccard([[], []]) == 1
    assert np.isnan(stability([[], []], 5))
    assert np.isnan(stability([range(5), range(5)], 5))
    assert stability([[0], []], 5) == pytest.approx(-1 / 9)
    with pytest.raises(ValueError, match="at least 2 sets"):
        jaccard([[1]])


def test_the_table() -> None:
    X, y, _ = groups(200)
    path = feature_path({"first": Fixed(), "the second": Fixed()}, X, y, [2, 30], random_state=0)
    rows = path.table()
    assert list(rows[0]) == ["selector", "n_features", "n_selected", "accuracy", "balanced_accuracy", "seconds"]
    assert pd.DataFrame(path.to_dict()).to_dict("records") == rows
    heading, titles, first, *others = repr(path).splitlines()
    assert heading == "FeaturePath of 150 rows and 300 columns, tested on 50 rows"
    assert titles.split() == list(rows[0])
    assert first.split()[:3] == ["first", "2", "2"]
    assert len({len(line) for line in (titles, first, *others)}) == 1
    with pytest.raises(KeyError, match="no selector 'third' here, but 'first', 'the second'"):
        path.of("third")
    with pytest.raises(KeyError, match="first was not asked for 7 features here, but for 2, 30"):
        path.selected("first", 7)


@pytest.mark.parametrize("resamples", [0, 2])
@pytest.mark.parametrize("counts", [[5], [2, 3, 4], [1, 10, 100, 200]])
def test_the_picture(resamples: int, counts: list[int]) -> None:
    pytest.importorskip("altair")
    X, y, _ = groups(200)
    path = feature_path({"one": Fixed(), "two": Fixed()}, X, y, counts, resamples=resamples, random_state=0)
    chart = path.plot(title="Two of a kind", metric="balanced_accuracy").to_dict()
    assert chart["title"]["text"] == "Two of a kind"
    panels = chart["hconcat"]
    assert len(panels) == (3 if resamples else 2)
    accuracy = panels[0]
    assert accuracy["title"]["text"] == "balanced accuracy on the test set"
    encodings = [panel["layer"][0]["encoding"] for panel in panels]
    assert encodings[1]["y"]["scale"]["type"] == "log"
    assert encodings[0]["x"]["scale"]["type"] == ("log" if len(counts) == 4 else "linear")
    for panel in panels:
        rows = panel["data"]["values"]
        assert [[row["x"] for row in rows if row["name"] == name] for name in ("one", "two")] == [counts, counts]
    found = [row["y"] for row in accuracy["data"]["values"] if row["name"] == "one"]
    np.testing.assert_allclose(found, [p.balanced_accuracy for p in path.of("one")])
    assert encodings[0]["color"]["legend"]["values"] == ["one", "two"]
    with pytest.raises(ValueError, match="metric must be 'accuracy' or"):
        path.plot(metric="error")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"selectors": {"my AROW": AROW(normalize="none")}},
            "The selector 'my AROW', a AROW, has no parameter 'n_features'",
        ),
        ({"selectors": [SparseDCA]}, "The selector '.*' must be an estimator, such as SparseDCA\\(\\). Got <class"),
        ({"selectors": [Fixed(), Fixed()]}, "Two of the selectors are of the same class: give them names"),
        ({"selectors": []}, "selectors must name at least one selector"),
        ({"selectors": 3}, "selectors must be a list of estimators or a dict of names to them. Got 3"),
        ({"counts": [3, 301]}, "counts must be at most the number of columns, 300. Got 301 among them"),
        ({"counts": [0]}, "counts must be integers of at least 1. Got 0 among them"),
        ({"counts": [2.5]}, "counts must be integers of at least 1. Got 2.5 among them"),
        ({"counts": []}, "counts must have at least one number of features"),
        (
            {"selectors": {"odd": Fixed(fail_at=7)}, "counts": [6, 7]},
            "'odd' failed with n_features=7: there is no luck",
        ),
        (
            {"selectors": {"both": SparseDCA(0.1, normalize="none")}},
            "'both' failed with n_features=5: SparseDCA takes one of the param",
        ),
        ({"test_size": 1.5}, "test_size must be a number between 0 and 1. Got 1.5"),
        ({"resamples": 1}, "resamples must be 0 or an integer of at least 2. Got 1"),
        ({"X_test": np.zeros((3, 300))}, "X_test and y_test must be given together"),
        ({"X_test": np.zeros((3, 2)), "y_test": [0, 1, 0]}, "X_test must have as many columns as X, 300. Got 2"),
        ({"y": np.r_[2, np.arange(199) % 2]}, "X cannot be split for testing, so give X_test and y_test: The least"),
        ({"y": None}, "y must be the labels of the rows of X. Got None"),
        ({"X": corrupt("column huge"), "y": np.arange(20) % 2}, "Input X is not a valid CSR matrix: row"),
        (
            {"X_test": corrupt("column huge"), "y_test": np.arange(20) % 2},
            "Input X_test is not a valid CSR matrix: row",
        ),
    ],
)
def test_what_a_path_refuses(arguments, message: str) -> None:
    X, y, _ = groups(200)
    with pytest.raises(ValueError, match=message):
        feature_path(**{"selectors": [Fixed()], "X": X, "y": y, "counts": [5], **arguments})
