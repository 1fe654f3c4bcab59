"""Shards of a stream: learned apart, merged into one model."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse

import sureline
from sureline import datasets, scale
from sureline._native import _core
from sureline.learners.catalogue import LEARNERS, learner_named
from sureline.learners.saving import learner_bytes, read_learner
from sureline.models.merging import begun
from sureline.models.numbers import Policy, Shape
from sureline.models.precision.triangle import Triangle
from sureline.models.state import State
from sureline.reference.merging import Merging, Sums, added
from sureline.scale import ArrayRows, Delta, DeltaError, Shard, learn_shard, merge
from sureline.scale.learning import begin, in_shard, mergeable

SPARSE = ("FOBOS", "STG", "RDA", "AdaFOBOS", "AdaRDA", "FSOL", "SSOL")


def is_mergeable(name: str) -> bool:
    try:
        mergeable(learner_named(name)())
    except ValueError:
        return False
    return True


MERGEABLE = [name for name in LEARNERS if is_mergeable(name)]
FEW = [name for name in MERGEABLE if name != "BCW"]  # a shard changes the weights of its features, and no others
FULL = [("BCW", {}), ("BCW", {"q": 2}), *((n, {"covariance": "full"}) for n in ("AROW", "SCW", "SOP", "NAROW", "SSOL"))]


def rows(n: int = 1200, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 12)) * (rng.random((n, 12)) < 0.6)
    scores = X @ rng.standard_normal((12, classes)) + 0.3 * rng.standard_normal((n, classes))
    return X, scores.argmax(axis=1)


def numbers_of(learner) -> list[np.ndarray]:
    """Everything that was learned, but for the tally."""
    model = learner.model
    if isinstance(model, State):
        return [model.weights, model.record, *([] if model.factors is None else [model.factors])]
    precision = model.precision
    held = precision.R if isinstance(precision, Triangle) else precision.Z
    return [model.mu, model.record, held.toarray() if issparse(held) else held]


def same(one, other) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(numbers_of(one), numbers_of(other), strict=True))


def learner_of(name: str, **parameters: object):
    own = {"lam": 1e-3} if name in SPARSE else {}
    return learner_named(name)(**{**own, **parameters})


def shards(X, y, cuts):
    ends = [0, *cuts, len(y)]
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return [
        Shard(k, len(parts), (part.stop - part.start) / len(y), ArrayRows(X[part], y[part]))
        for k, part in enumerate(parts)
    ]


def in_rounds(base: bytes, *rounds) -> bytes:
    for some in rounds:
        base = merge(base, [learn_shard(base, shard) for shard in some])
    return base


def test_most_learners_can_be_merged() -> None:
    assert set(MERGEABLE) >= {"AROW", "SCW", "PA", "FTRL", "SSOL", "NHERD", "OGD", "Perceptron", *SPARSE}
    for name in ("CW", "ROMMA", "ODCA", "SBCW", "FGM"):
        with pytest.raises(ValueError, match=f"{name} with these parameters cannot be learned in shards"):
            mergeable(learner_named(name)())
    for name, parameters in FULL:
        mergeable(learner_named(name)(**parameters))
    for one in (learner_named("AROW")(average=True), learner_named("NHERD")(covariance="full")):
        with pytest.raises(ValueError, match="cannot be learned in shards"):
            mergeable(one)


@pytest.mark.parametrize(("name", "parameters"), [*((name, {}) for name in FEW), *FULL])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_shard_is_one_machine(name: str, parameters: dict[str, object], n_classes: int) -> None:
    X, y = rows(classes=n_classes)
    base = begin(learner_of(name, **parameters), list(range(n_classes)))
    alone = read_learner(base).learner
    again = in_rounds(base, shards(X[:700], y[:700], []), shards(X[700:], y[700:], []))
    model = getattr(sureline, name)(**alone.parameters())
    for part in (slice(0, 700), slice(700, None)):  # a round is a batch
        model.partial_fit(csr_matrix(X[part]), y[part], classes=np.arange(n_classes))  # as shards have them
    merged = read_learner(again).learner
    assert same(merged, model)
    assert np.array_equal(merged.model.tally, model.model.tally)


@pytest.mark.parametrize("name", FEW)
def test_a_shard_begins_with_the_weights_of_its_base(name: str) -> None:
    X, y = rows()
    base = read_learner(in_rounds(begin(learner_of(name), [0, 1]), shards(X, y, []))).learner
    sharding = mergeable(base)
    for share in (0.5, 0.1, 1 / 3):
        learner = in_shard(base, sharding, share)
        state = begun(base.model, sharding.part(share), sums=sharding.sums)
        state.refresh(learner.rule)
        penalised = name in ("RDA", "AdaRDA") or (name == "SSOL")
        tolerance = 2e-3 if penalised else 1e-9  # a clock begins rounded down
        np.testing.assert_allclose(state.coefficients(), base.model.coefficients(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "parameters"), [*((name, {}) for name in FEW), *FULL])
def test_no_rows_change_nothing(name: str, parameters: dict[str, object]) -> None:
    X, y = rows()
    base = in_rounds(begin(learner_of(name, **parameters), [0, 1]), shards(X, y, [600]))
    nothing = [Shard(k, 3, share, ArrayRows(X[:0], y[:0])) for k, share in enumerate((0.5, 0.2, 0.3))]
    deltas = [learn_nothing(base, shard) for shard in nothing]
    after, before = read_learner(merge(base, deltas)).learner, read_learner(base).learner
    assert same(after, before)
    assert np.array_equal(after.model.tally, before.model.tally)
    np.testing.assert_allclose(after.model.coefficients(), before.model.coefficients(), rtol=1e-9, atol=1e-12)


def learn_nothing(base: bytes, shard: Shard) -> bytes:
    class NoRows:
        name = "nothing"

        def chunks(self, dtype: str):
            return iter(())

    return learn_shard(base, replace(shard, rows=NoRows()))


@pytest.mark.parametrize(("name", "power"), [("AROW", 1.0), ("NHERD", 1.0), ("SCW", 0.5)])
def test_means_and_precisions_by_hand(name: str, power: float) -> None:
    X, y = rows()
    base = in_rounds(begin(learner_of(name, normalize="none"), [0, 1]), shards(X[:200], y[:200], []))
    some = shards(X[200:], y[200:], [250])
    merged = read_learner(in_rounds(base, some)).learner
    w, precision = 0.0, 1 / read_learner(base).learner.covariance_
    for shard in some:
        model = getattr(sureline, name)(normalize="none").partial_fit(csr_matrix(X[:200]), y[:200], classes=[0, 1])
        before = model.covariance_
        weight = np.full(len(shard.rows.y), (1 / shard.share) ** power)
        model.partial_fit(csr_matrix(shard.rows.X), shard.rows.y, sample_weight=weight)
        w = w + shard.share * model.coef_
        precision = precision + shard.share**power * (1 / model.covariance_ - 1 / before)
    np.testing.assert_allclose(merged.coef_, w, rtol=1e-12)
    np.testing.assert_allclose(merged.covariance_, 1 / precision, rtol=1e-12)
    assert merged.n_seen_ == 1200


def test_sums_of_ftrl_are_those_of_all_gradients() -> None:
    # Rows that no feature shares: each weight is learned by one shard alone, which counts its rows twice. The sums of
    # squares are then those of one machine, since each row counts once in what is merged.
    X = np.eye(8)
    y = np.array([0, 1] * 4)
    base = begin(learner_of("FTRL", normalize="none", fit_intercept=False), [0, 1])
    one = read_learner(in_rounds(base, shards(X, y, []))).learner.model.weights
    two = read_learner(in_rounds(base, shards(X, y, [4]))).learner.model.weights
    np.testing.assert_allclose(two[1:], one[1:], rtol=1e-12)


def test_order_of_the_deltas_does_not_matter() -> None:
    X, y = rows()
    base = begin(learner_of("SCW"), [0, 1])
    deltas = [learn_shard(base, shard) for shard in shards(X, y, [100, 450, 451, 900])]
    assert merge(base, deltas) == merge(base, deltas[::-1]) == merge(base, [deltas[k] for k in (3, 0, 4, 1, 2)])


_CUT = _core.MemoryColumn.cut.value


def reference_of(base: State, sums: bool) -> Merging:
    """The formulas in NumPy, for this base."""
    kinds = [kind.name for kind in _core.merged_numbers(base.shape, sums)]
    limit, delta = (None, None) if base.rounds is None else (base.rounds[:, column.value] for column in LIMITS)
    in_roots = base.shape is Shape.adaptive_truncated
    return Merging(base.weights.reshape(-1, base.shape.width), kinds, base.n_heads, limit, delta if in_roots else None)


LIMITS = (_core.RoundColumn.limit, _core.RoundColumn.delta)


def terms_of(base: bytes, deltas: list[bytes]) -> tuple[Merging, list[Sums]]:
    learner = read_learner(base).learner
    sharding = mergeable(learner)
    found = [Delta.of(delta) for delta in deltas]
    widest = learner.model.copy()
    widest.widen(max(delta.change.n_columns for delta in found))
    merging = reference_of(widest, sharding.sums)
    terms = [
        merging.terms(
            delta.change.places,
            delta.change.numbers,
            delta.change.memory[:, _CUT],
            delta.share,
            sharding.part(delta.share),
        )
        for delta in found
    ]
    return merging, terms


def test_grouping_matters_to_rounding_only() -> None:
    X, y = rows()
    base = begin(learner_of("AROW"), [0, 1])
    merging, (a, b, c) = terms_of(base, [learn_shard(base, shard) for shard in shards(X, y, [400, 800])])
    left, right = added([added([a, b]), c]), added([a, added([b, c])])
    assert np.array_equal(left.places, right.places)
    np.testing.assert_allclose(left.numbers, right.numbers, rtol=1e-12)
    after = read_learner(merge(base, [learn_shard(base, shard) for shard in shards(X, y, [400, 800])])).learner.model
    np.testing.assert_allclose(after.weights[:, 0, 0], merging.merged(right, np.zeros(1))[:, 0], rtol=1e-12)


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize(("dtype", "n_classes"), [("float32", 2), ("float64", 3)])
def test_the_core_merges_as_the_formulas(name: str, dtype: str, n_classes: int) -> None:
    """Bit for bit: a base that has learned, shards that met different features, and one that met none."""
    X, y = rows(600, n_classes)
    X[:300, 8:] = 0.0
    X[300:400, :4] = 0.0
    X[400:500] = 0.0
    base = in_rounds(begin(learner_of(name, dtype=dtype), list(range(n_classes))), shards(X[:200], y[:200], []))
    deltas = [learn_shard(base, shard) for shard in shards(X[200:], y[200:], [50, 200, 300])]
    merging, terms = terms_of(base, deltas)
    after = read_learner(merge(base, deltas)).learner.model
    bits = f"u{after.dtype.itemsize}"
    expected = merging.merged(added(terms), after.memory[:, _CUT])
    assert np.array_equal(after.weights.reshape(expected.shape)[: len(expected)].view(bits), expected.view(bits))


@given(data=st.data(), seed=st.integers(0, 2**32), dtype=st.sampled_from(["float32", "float64"]))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_core_merges_any_numbers_as_the_formulas(data: st.DataObject, seed: int, dtype: str) -> None:
    """Bit for bit: places side by side and far apart, of any shape, with any truncation."""
    shape = data.draw(st.sampled_from([shape for shape in Shape if _core.merged_numbers(shape, False)]))
    sums = data.draw(st.booleans()) and not shape.name.endswith("truncated")
    n_classes, policy = data.draw(st.sampled_from([(2, Policy.binary), (3, Policy.rival), (3, Policy.ovr)]))
    n_shards, n_columns = data.draw(st.integers(2, 5)), data.draw(st.sampled_from([5, 300, 40_000]))
    if shape.has_factors:
        n_columns = 5
    rng = np.random.default_rng(seed)
    base = State(shape, dtype, n_columns, True, n_classes, policy)

    def numbers(n: int) -> np.ndarray:
        found = rng.standard_normal((n, shape.width)).astype(dtype)
        found[:, 1:] = np.abs(found[:, 1:]) + 0.01
        found[rng.random(found.shape) < 0.1] = 1.0
        if shape.has_variances:
            found[:, 1] = flipped(np.minimum(found[:, 1], 1.0))
        return found

    def some(n: int) -> np.ndarray:
        if rng.random() < 0.5:  # side by side
            start = int(rng.integers(n))
            return np.arange(start, min(start + int(rng.integers(1, 9000)), n))
        return np.flatnonzero(rng.random(n) < rng.random() ** 6)

    flat = base.weights.reshape(-1, shape.width)
    learned = some(len(flat))
    flat[learned] = numbers(len(learned))
    if base.rounds is not None:
        base.rounds[:] = np.abs(rng.standard_normal(base.rounds.shape))
        base.rounds[:, LIMITS[0].value] = rng.choice([0.5, np.inf], len(base.memory))
    merging, changes, terms = reference_of(base, sums), [], []
    for _ in range(n_shards):
        places = some(len(flat))
        moved, cuts = numbers(len(places)), np.abs(rng.standard_normal(len(base.memory)))
        share, part = rng.random(2) * 0.5
        changes.append(_core.ShardChange(places, moved, cuts, share=share, part=part))
        terms.append(merging.terms(places, moved, cuts, share, part))
    base.memory[:, _CUT] = np.abs(rng.standard_normal(len(base.memory)))
    expected = merging.merged(added(terms), base.memory[:, _CUT])
    _core.merge_changes(base.core, changes, sums=sums)
    bits = f"u{base.dtype.itemsize}"
    assert np.array_equal(flat.view(bits), expected.view(bits))


def flipped(variances: np.ndarray) -> np.ndarray:
    bits = f"u{variances.itemsize}"
    return (np.ascontiguousarray(variances).view(bits) ^ np.ones(1, variances.dtype).view(bits)).view(variances.dtype)


def test_merging_costs_little_more_than_checksums() -> None:
    """Processor time of merging wide models, as a multiple of what the bytes of deltas and model must cost anyway."""
    n, n_columns = 8, 1 << 21
    base = begin(learner_of("AROW", dtype="float32", normalize="none"), [0, 1])
    draw, deltas = np.random.default_rng(0), []
    for k in range(n):
        columns = np.flatnonzero(draw.random(n_columns) < 0.05).astype(np.int32)
        cuts = np.linspace(0, len(columns), 101).astype(np.int32)
        X = csr_matrix((np.ones(len(columns), np.float32), columns, cuts), (100, n_columns))
        deltas.append(learn_shard(base, Shard(k, n, 1 / n, ArrayRows(X, draw.integers(0, 2, 100)))))

    def checksums(model: bytes) -> None:
        for data in (*deltas, model, model):  # the model is read again, as deltas may be made up
            hashlib.sha256(data).digest()

    model = merge(base, deltas)
    assert seconds(lambda: merge(base, deltas)) < 10 * seconds(lambda: checksums(model))


def seconds(action: Callable[[], object]) -> float:
    """Of a processor, the least of five."""
    times = []
    for _ in range(5):
        begun = time.process_time()
        action()
        times.append(time.process_time() - begun)
    return min(times)


def test_changes_that_do_not_fit_leave_the_model_as_it_is() -> None:
    base = State(Shape.diagonal, "float64", 9, True)
    good = {"places": np.array([2, 5]), "numbers": np.ones((2, 2)), "cuts": np.zeros(1)}
    for wrong in (
        {"places": np.array([5, 2])},
        {"places": np.array([5, 5])},
        {"places": np.array([2, 10])},
        {"places": np.array([-1, 2])},
        {"numbers": np.ones((2, 1))},
        {"numbers": np.ones((2, 2), np.float32)},
        {"cuts": np.zeros(2)},
    ):
        changes = [_core.ShardChange(**one, share=0.5, part=0.5) for one in (good, good | wrong)]
        with pytest.raises(ValueError, match=r"fit|ascend"):
            _core.merge_changes(base.core, changes, sums=False)
        assert not base.weights.any()
    window = State(Shape.dual, "float64", 9, True)
    with pytest.raises(ValueError, match="of this shape"):
        _core.merge_changes(window.core, [], sums=False)


@given(
    name=st.sampled_from(FEW),
    cuts=st.lists(st.integers(1, 299), min_size=1, max_size=6, unique=True).map(sorted),
    split=st.integers(1, 5),
    empty=st.integers(0, 6),
)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_algebra_of_any_shards(name: str, cuts: list[int], split: int, empty: int) -> None:
    """Order does not matter, grouping matters to rounding only, and shards without rows change nothing of a sum."""
    X, y = rows(300)
    base = begin(learner_of(name), [0, 1])
    some = shards(X, y, cuts)
    deltas = [learn_shard(base, shard) for shard in some]
    assert merge(base, deltas) == merge(base, deltas[::-1])
    merging, parts = terms_of(base, deltas)
    trained = read_learner(merge(base, deltas)).learner
    split = min(split, len(parts) - 1)
    left, right = added(parts), added([added(parts[:split]), added(parts[split:])])
    assert np.array_equal(left.places, right.places)
    rounding = 1e-12 * np.abs(right.numbers).max(initial=0.0)  # numbers that cancel leave that of what they were
    np.testing.assert_allclose(left.numbers, right.numbers, rtol=1e-12, atol=rounding)
    grouped = merging.merged(right, trained.model.memory[:, _CUT])[:, 0]
    merged = trained.model.weights.reshape(-1, merging.weights.shape[1])[: len(grouped), 0]
    np.testing.assert_allclose(merged, grouped, rtol=1e-9, atol=1e-12 * np.abs(grouped).max(initial=1.0))
    # Two states, far apart in rounding only, are one state: shares of 0 rows in a round keep the weights of the base.
    after = learner_bytes(trained)
    nothing = [Shard(k, empty + 2, 1 / (empty + 2), ArrayRows(X[:0], y[:0])) for k in range(empty + 2)]
    again = read_learner(merge(after, [learn_nothing(after, shard) for shard in nothing])).learner
    assert np.array_equal(again.model.weights, trained.model.weights)
    assert np.array_equal(again.model.tally, trained.model.tally)


@pytest.mark.parametrize("name", FEW)
def test_deltas_hold_touched_features_only_in_order(name: str) -> None:
    X = np.zeros((400, 5000))
    draw = np.random.default_rng(0)
    X[np.arange(400), draw.integers(0, 5000, 400)] = 1.0
    y = draw.integers(0, 2, 400)
    base = begin(learner_of(name, fit_intercept=False), [0, 1])
    for _ in range(2):  # the second begins with a model that has every one of them
        deltas = [learn_shard(base, shard) for shard in shards(X, y, [200])]
        for delta, part in zip(map(Delta.of, deltas), (X[:200], X[200:]), strict=True):
            slots = delta.change.places
            assert (np.diff(slots) > 0).all()
            assert set(slots - 1) <= set(np.flatnonzero(part.any(axis=0)))
            assert len(slots) > 0
        base = merge(base, deltas)


@given(
    q=st.sampled_from([1, 2]),
    n_columns=st.sampled_from([12, 700]),  # a matrix, and the rows that it is made of
    cuts=st.lists(st.integers(1, 199), min_size=1, max_size=5, unique=True).map(sorted),
    sparse=st.booleans(),
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_precisions_of_bcw_add_exactly(q: int, n_columns: int, cuts: list[int], sparse: bool) -> None:
    """They are those of one machine, and means count by them; in a second round too."""
    X, y = rows(400)
    X = np.pad(X, ((0, 0), (0, n_columns - 12)))
    if not sparse:
        X[::7] += 0.01
    base = begin(learner_of("BCW", C=0.5, q=q, normalize="none"), [0, 1])
    alone = merged = base
    for part in (slice(0, 200), slice(200, 400)):
        some = shards(X[part], y[part], cuts)
        deltas = [learn_shard(merged, shard) for shard in some]
        before = read_learner(merged).learner.model
        backwards = merge(merged, deltas[::-1])
        merged, alone = merge(merged, deltas), in_rounds(alone, shards(X[part], y[part], []))
        assert backwards == merged
        one, all_of_them = (read_learner(model).learner.model for model in (alone, merged))
        np.testing.assert_allclose(all_of_them.covariance(), one.covariance(), rtol=1e-9, atol=1e-12)
        ends = [read_learner(Delta.of(delta).model).learner.model for delta in deltas]
        start = before.grown(n_columns, 2, before.policy)
        by_hand = sum(
            shard.share * np.linalg.solve(end.covariance(), (end.grown(n_columns, 2, end.policy).mu - start.mu)[0])
            for shard, end in zip(some, ends, strict=True)
        )
        expected = start.mu[0] + one.covariance() @ by_hand
        np.testing.assert_allclose(all_of_them.mu[0], expected, rtol=1e-7, atol=1e-10)
        assert all_of_them.tally.sum() == sum((end.tally - start.tally).sum() for end in ends) + start.tally.sum()


@pytest.mark.parametrize(("name", "power"), [("AROW", 1.0), ("NAROW", 1.0), ("SOP", 1.0), ("SCW", 0.5)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_full_covariances_by_hand(name: str, power: float, n_classes: int) -> None:
    X, y = rows(classes=n_classes)
    own = {"covariance": "full", "normalize": "none"}
    base = in_rounds(begin(learner_of(name, **own), list(range(n_classes))), shards(X[:200], y[:200], []))
    some = shards(X[200:], y[200:], [250, 600])
    deltas = [learn_shard(base, shard) for shard in some]
    assert merge(base, deltas) == merge(base, deltas[::-1])
    begun_with, merged = (read_learner(model).learner.model for model in (base, merge(base, deltas)))
    w, before = 0.0, np.linalg.inv(begun_with.covariance())
    precision = before
    for shard, delta in zip(some, deltas, strict=True):
        model = getattr(sureline, name)(**own)
        model.partial_fit(csr_matrix(X[:200]), y[:200], classes=np.arange(n_classes))
        weight = 1 / np.full(len(shard.rows.y), shard.share**power)
        model.partial_fit(csr_matrix(shard.rows.X), shard.rows.y, sample_weight=weight)
        assert same(read_learner(Delta.of(delta).model).learner, model)
        w = w + shard.share * model.model.coefficients()
        precision = precision + shard.share**power * (np.linalg.inv(model.model.covariance()) - before)
    np.testing.assert_allclose(merged.coefficients(), w, rtol=1e-9)
    np.testing.assert_allclose(merged.covariance(), np.linalg.inv(precision), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("name", "parameters"), [("BCW", {}), ("AROW", {"covariance": "full"})])
def test_models_of_shards_that_do_not_fit(name: str, parameters: dict[str, object]) -> None:
    X, y = rows(400)
    base = begin(learner_of(name, **parameters), [0, 1])
    deltas = [Delta.of(learn_shard(base, shard)) for shard in shards(X, y, [200])]
    others = (
        None,
        begin(learner_of("PA"), [0, 1]),
        begin(learner_of(name, **parameters), [0, 2]),
        begin(learner_of(name, **parameters, dtype="float32"), [0, 1]),
        begin(learner_of(name, **parameters, fit_intercept=False), [0, 1]),
        deltas[0].model[:-8],
    )
    for other in others:
        with pytest.raises(DeltaError, match="does not fit the model"):
            merge(base, [replace(deltas[0], model=other).to_bytes(), deltas[1].to_bytes()])
    few = begin(learner_of("PA"), [0, 1])
    mixed = [Delta.of(learn_shard(few, shard)) for shard in shards(X, y, [200])]
    with pytest.raises(DeltaError, match="does not fit the model"):
        merge(few, [replace(mixed[0], model=few).to_bytes(), mixed[1].to_bytes()])


@pytest.mark.parametrize("name", ["AROW", "FTRL", "BCW"])
def test_shards_that_meet_new_labels(name: str) -> None:
    X, y = rows(classes=4)
    words = np.array(["d", "a", "c", "b"])[y]
    words[:300] = np.where(y[:300] % 2, "a", "d")
    plan = scale.Plan(((tuple(shards(X, words, [300, 800])), True),))
    model = scale.run(begin(learner_of(name), ["a", "d"]), plan, scale.Local())
    learner = read_learner(model).learner
    assert learner.labels == ["a", "d", "b", "c"]
    assert learner.n_seen_ == len(y)

    class Backwards:
        def learn(self, model, shards, *, first_pass):
            for shard in reversed(shards):
                yield learn_shard(model, shard, first_pass=first_pass)

    assert scale.run(begin(learner_of(name), ["a", "d"]), plan, Backwards()) == model


@pytest.mark.parametrize("name", ["AROW", "BCW"])
def test_one_shard_learns_new_labels_as_they_come(name: str) -> None:
    X, y = rows(classes=3)
    y[:1100] = y[:1100] % 2
    model = in_rounds(begin(learner_of(name), [0, 1]), shards(X, y, []))
    learner = read_learner(model).learner
    assert learner.labels == [0, 1, 2]
    assert learner.n_seen_ == len(y)
    assert learner.model.n_heads == 3


def test_deltas_that_do_not_belong() -> None:
    X, y = rows()
    base = begin(learner_of("PA"), [0, 1])
    deltas = [learn_shard(base, shard) for shard in shards(X, y, [600])]
    later = merge(base, deltas)
    with pytest.raises(DeltaError, match="of another model"):
        merge(later, deltas)
    for wrong in (deltas[:1], [deltas[0], deltas[0]], [*deltas, deltas[1]]):
        with pytest.raises(DeltaError, match="each of its deltas once"):
            merge(base, wrong)
    with pytest.raises(DeltaError, match="no delta"):
        merge(base, [])
    for k in range(0, len(deltas[0]), 997):
        damaged = bytearray(deltas[0])
        damaged[k] ^= 4
        with pytest.raises(DeltaError):
            merge(base, [bytes(damaged), deltas[1]])


def test_scales_names_and_counts_add_up() -> None:
    X, y = rows()
    base = begin(learner_of("AROW"), [0, 1])
    merged = read_learner(in_rounds(base, shards(np.abs(X), y, [200, 700]))).learner
    _, means, counts = merged.normalizer.arrays()
    assert np.array_equal(counts, (X != 0).sum(axis=0))
    np.testing.assert_allclose(means, np.abs(X).sum(axis=0) / counts, rtol=1e-12)
    assert merged.n_seen_ == len(y)
    assert learner_bytes(merged)


@pytest.mark.parametrize(
    ("name", "own"), [("BCW", {"C": 0.1}), ("AROW", {"covariance": "full"}), ("SCW", {"covariance": "full", "C": 0.1})]
)
def test_shards_with_full_covariances_learn_as_if_they_were_the_whole_stream(name: str, own: dict[str, object]) -> None:
    X, y = datasets.make_stream_like("rcv1", 12_000, random_state=1)
    fold = csr_matrix((np.ones(X.shape[1]), (np.arange(X.shape[1]), np.arange(X.shape[1]) % 100)))
    X = csr_matrix(X @ fold)
    X.sort_indices()
    base = begin(learner_of(name, **own), [0, 1])
    rest = X[8000:]

    def error(model: bytes) -> float:
        learner = read_learner(model).learner
        values, n = rest.data.astype(learner.dtype), rest.shape[1]
        scores, _ = learner.judge_rows(values, rest.indices.astype(np.int32), rest.indptr.astype(np.int32), n)
        return float(np.mean(learner.chosen(scores) != y[8000:]))

    one = error(in_rounds(base, shards(X[:8000], y[:8000], [])))
    cuts = range(500, 4000, 500)
    halves = shards(X[:4000], y[:4000], cuts), shards(X[4000:8000], y[4000:8000], cuts)
    assert error(in_rounds(base, shards(X[:8000], y[:8000], range(1000, 8000, 1000)))) < 1.1 * one
    assert error(in_rounds(base, *halves)) < 1.1 * one


@pytest.mark.parametrize("name", ["AROW", "SCW", "PA", "FTRL", "SSOL"])
def test_shards_learn_as_if_they_were_the_whole_stream(name: str) -> None:
    X, y = datasets.make_stream_like("rcv1", 24_000, random_state=1)
    own = {"AROW": {"r": 10.0}, "SCW": {"C": 0.1}, "PA": {"C": 0.02}}.get(name, {})
    base = begin(learner_of(name, **own), [0, 1])

    def error(model: bytes) -> float:
        learner = read_learner(model).learner
        rest = X[20_000:]
        scores, _ = learner.judge_rows(rest.data, rest.indices, rest.indptr, rest.shape[1])
        return float(np.mean(learner.chosen(scores) != y[20_000:]))

    one = error(in_rounds(base, shards(X[:20_000], y[:20_000], [])))
    eight = error(in_rounds(base, shards(X[:20_000], y[:20_000], range(2500, 20_000, 2500))))
    assert eight < 1.15 * one
