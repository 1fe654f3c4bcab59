"""The model of SBCW and FGM: groups of a few columns, each group with its own covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from .._inputs import Array, Floats, Ints
from .._native import _core
from .numbers import Policy, fresh_tally
from .record import begun_anew, fresh_record
from .rows import Reason, as_rows, refusal, refusals

# Why the search for groups ended: the wanted number of features or groups was reached, theta changed little, memory was
# short, no column would make a difference, or there was no batch yet.
Stop = Literal["", "n_features", "max_iter", "tol", "memory", "no_features"]

# The arrays that a state is stored as, and their dimensions. A state without covariance has no precisions.
TENSORS = {"columns": 1, "sizes": 1, "z": 2, "z_b": 1, "past": 1, "scalars": 1, "theta": 1, "precisions": 1}


def inverse(P: Floats) -> Floats:
    """P^-1 of a precision I + sum of C_i x_i x_i', by its Cholesky factor.

    If columns are copies of each other, and so long that rounding loses the I, there is no such factor. Then
    eigenvalues are used: of P with its diagonal scaled to 1, each raised to at least the rounding error.
    """
    from scipy.linalg import lapack

    n, eps = len(P), float(np.finfo(np.float64).eps)
    scale = 1 / np.sqrt(P.diagonal())
    scales = np.outer(scale, scale)
    R = P * scales
    L, info = lapack.dpotrf(R, lower=True)  # with zeros above the diagonal
    if info == 0 and (L.diagonal() ** 2 > n * eps).all():
        root, _ = lapack.dtrtri(L, lower=True)  # not dpotri, which starts all threads even for the smallest P
        S = root.T @ root
    else:
        eigenvalues, V = np.linalg.eigh(R)
        root = (V / np.sqrt(np.maximum(eigenvalues, max(n * eps, float((scale**2).min()))))).T
        S = root.T @ root
    covariance: Floats = np.ascontiguousarray(S * scales)
    return covariance


@dataclass(frozen=True)
class Group:
    """Columns, ascending, and their precision P; None for a fixed identity."""

    columns: Ints
    P: Floats | None

    @cached_property
    def S(self) -> Floats | None:
        """The covariance, P^-1."""
        return None if self.P is None else inverse(self.P)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()  # other threads may add cached values to it

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(eq=False)
class GroupState:
    """Groups that all heads share, and for each head z, the sum of C_i alpha_i y_i x_i of the selected columns.

    With u_k = S_k z_k and a_k^2 = z_k.u_k the weights of group k are mu_k = u_k max(0, 1 - s/a_k) / sigma, where
    sum_k max(0, a_k - s) = sigma s. It is never changed: a batch makes a new one.
    """

    shape = "groups"

    n_columns: int
    intercept: bool
    dtype: np.dtype[Any]  # that rows are read in
    policy: Policy
    tally: Ints
    groups: tuple[Group, ...]
    z: Floats  # of shape (heads, selected columns), group after group
    z_b: Floats  # of the intercepts
    P_b: float  # the precision of an intercept
    past: Floats  # the alphas' contribution to theta so far, for each head
    sigma: float
    has_covariance: bool  # else all S_k are the identity
    theta: Floats  # after each subproblem of the last batch
    stopped_by: Stop = ""
    record: Floats = field(default_factory=fresh_record)

    @classmethod
    def fresh(
        cls, n_columns: int, n_classes: int, *, intercept: bool, dtype: Any, sigma: float, has_covariance: bool
    ) -> Self:
        n_heads = n_classes if n_classes > 2 else 1
        return cls(
            n_columns=n_columns,
            intercept=intercept,
            dtype=np.dtype(dtype),
            policy=Policy.ovr if n_heads > 1 else Policy.binary,
            tally=fresh_tally(max(n_classes, 2)),
            groups=(),
            z=np.zeros((n_heads, 0)),
            z_b=np.zeros(n_heads),
            P_b=1.0,
            past=np.zeros(n_heads),
            sigma=sigma,
            has_covariance=has_covariance,
            theta=np.zeros(0),
        )

    def grown(self, n_columns: int, n_classes: int, policy: Policy) -> Self:
        """The model with at least that many columns and classes.

        If two classes become more, each gets z with its own sign.
        """
        state = self
        if n_columns > self.n_columns:
            state = replace(state, n_columns=n_columns)
        if n_classes > len(self.tally):
            state = replace(state, tally=np.pad(self.tally, ((0, n_classes - len(self.tally)), (0, 0))))
        if n_classes > max(self.n_heads, 2):
            z, z_b, past = self.z, self.z_b, self.past
            if self.n_heads == 1:
                state = replace(state, record=begun_anew(self.record))
                z, z_b, past = np.concatenate([-z, z]), np.concatenate([-z_b, z_b]), np.repeat(past, 2)
            more = n_classes - len(z_b)
            z, z_b, past = np.pad(z, ((0, more), (0, 0))), np.pad(z_b, (0, more)), np.pad(past, (0, more))
            state = replace(state, policy=Policy.ovr, z=z + 0.0, z_b=z_b + 0.0, past=past)
        return state

    def renumbered(self, n_columns: int, new_number: Callable[[Ints], Ints]) -> Self:
        """The same groups with renumbered columns."""
        groups = tuple(Group(new_number(group.columns), group.P) for group in self.groups)
        return replace(self, n_columns=n_columns, groups=groups)

    @property
    def n_heads(self) -> int:
        return len(self.z_b)

    @property
    def nbytes(self) -> int:
        matrices = [matrix for group in self.groups for matrix in (group.P, group.S) if matrix is not None]
        return sum(array.nbytes for array in (self.columns, self.z, self.mu, *matrices))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()  # as above

    @cached_property
    def columns(self) -> Ints:
        """The selected columns, group by group."""
        return np.concatenate([np.zeros(0, np.int64), *(group.columns for group in self.groups)])

    @cached_property
    def bounds(self) -> Ints:
        """The starts of the groups in `columns`, and the end."""
        return np.cumsum([0, *map(len, self.groups)])

    @cached_property
    def mu(self) -> Floats:
        """The weights of the selected columns, of shape (heads, selected columns)."""
        mu = np.zeros_like(self.z)
        for z, weights in zip(self.z, mu, strict=True):
            parts = [(group.S, z[at : at + len(group)]) for group, at in zip(self.groups, self.bounds, strict=False)]
            u = [z_k if S is None else S @ z_k for S, z_k in parts]
            a = np.sqrt([max(0.0, float(z_k @ u_k)) for (_, z_k), u_k in zip(parts, u, strict=True)])
            weights[:] = np.concatenate(
                [weights[:0], *(c * u_k for c, u_k in zip(shares(a, self.sigma), u, strict=True))]
            )
        return mu

    def used(self) -> npt.NDArray[np.bool_]:
        """True for groups with a weight in some head."""
        weighs = (self.mu != 0).any(axis=0)
        return np.array([weighs[i:j].any() for i, j in zip(self.bounds, self.bounds[1:], strict=False)], bool)

    # -- answers ---------------------------------------------------------------------------------------------

    def scores(self, X: Any) -> Floats:
        """w.x for every row and head; X is an array or CSR, with no more columns than the model."""
        rows = as_rows(X, X.dtype)
        out = np.empty((rows.n_rows, self.n_heads))
        weights = np.ascontiguousarray(self.mu.T)
        with refusals(rows):
            _core.group_score(rows, self.n_columns, self.columns, weights, self.intercepts(), out)
        return out

    def variances(self, X: Any) -> Floats:
        """x'Sx for every row and head; columns that were not selected contribute nothing."""
        rows = as_rows(X, X.dtype)
        out = np.empty(rows.n_rows)
        blocks = [np.eye(len(group)) if group.S is None else group.S for group in self.groups]
        S = np.concatenate([np.zeros(0), *(block.reshape(-1) for block in blocks)])
        sizes = [len(group) for group in self.groups]
        of_intercept = 1 / self.P_b if self.intercept else 0.0
        try:
            _core.group_variance(rows, self.n_columns, self.columns, sizes, S, intercept=of_intercept, out=out)
        except _core.Refused as refused:
            if refused.reason is not Reason.score:
                raise refusal(rows, refused, np.float64) from None
            raise ValueError(
                f"Row {refused.row} of X has a variance beyond float64; "
                "scale X so that its values are of the order of 1."
            ) from None
        return np.repeat(out[:, np.newaxis], self.n_heads, axis=1)

    def variances_beyond(self, squares: Floats) -> Floats:
        return np.zeros((len(squares), 1))

    # -- what a user sees ------------------------------------------------------------------------------------

    def nonzero(self) -> list[tuple[Ints, Array]]:
        heads = []
        for b, mu in zip(self.intercepts(), self.mu, strict=True):
            slots, values = np.append(self.columns + 1, 0), np.append(mu, b)
            order = np.argsort(slots)
            order = order[values[order] != 0]
            heads.append((slots[order], values[order]))
        return heads

    def count_nonzero(self) -> int:
        return int(np.count_nonzero(self.mu))

    def coefficients(self) -> Floats:
        dense = np.zeros((self.n_heads, self.n_columns + 1))
        dense[:, 0] = self.intercepts()
        dense[:, self.columns + 1] = self.mu
        return dense

    def intercepts(self) -> Floats:
        return self.z_b / self.P_b if self.intercept else np.zeros(self.n_heads)

    def intercept_variances(self) -> Floats:
        return np.full(self.n_heads, 1 / self.P_b if self.intercept else 1.0)

    def weight_variances(self, slots: Ints, head: int) -> Floats | None:
        if not self.has_covariance:
            return None
        diagonals = [group.S.diagonal() for group in self.groups if group.S is not None]
        known = dict(zip(self.columns.tolist(), np.concatenate([np.zeros(0), *diagonals]).tolist(), strict=True))
        known[-1] = 1 / self.P_b if self.intercept else 1.0
        return np.array([known.get(int(slot) - 1, 0.0) for slot in slots], np.float64)

    def only_nonzero(self) -> Self:
        return self  # it knows nothing of other features

    # -- as arrays -------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, Array]:
        """All data except `n_columns`, `intercept`, `dtype`, `policy` and `tally`."""
        packed = [group.P[np.tril_indices(len(group))] for group in self.groups if group.P is not None]
        arrays: dict[str, Array] = {
            "columns": self.columns,
            "sizes": np.diff(self.bounds),
            "z": self.z,
            "z_b": self.z_b,
            "past": self.past,
            "scalars": np.array([self.P_b, self.sigma, get_args(Stop).index(self.stopped_by)], np.float64),
            "theta": self.theta,
        }
        if self.has_covariance:
            arrays["precisions"] = np.concatenate([np.zeros(0), *packed])
        return arrays

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, Array],
        *,
        n_columns: int,
        n_heads: int,
        intercept: bool,
        dtype: Any,
        policy: Policy,
        tally: Ints,
    ) -> Self:
        """Read the arrays of `to_arrays`; ValueError if they are not of such a state, or contradict each other."""
        for name, ndim in TENSORS.items():
            if name == "precisions" and name not in arrays:
                continue
            array, kind = arrays.get(name), np.int64 if name in ("columns", "sizes") else np.float64
            if array is None or array.dtype != kind or array.ndim != ndim:
                raise ValueError(f"the tensor {name} is missing, or its type or shape does not fit the others")
            if not np.isfinite(array).all():
                raise ValueError(f"the tensor {name} is not finite")
        if policy is Policy.rival:
            raise ValueError("the policy of groups is neither binary nor ovr")
        columns, sizes, z = arrays["columns"], arrays["sizes"], arrays["z"]
        P_b, sigma, stop = arrays["scalars"].tolist() if len(arrays["scalars"]) == 3 else (0.0, 0.0, 0.0)
        if not (P_b > 0 and sigma > 0 and stop in range(len(get_args(Stop)))):
            raise ValueError("a scalar is out of range")
        if (sizes < 1).any() or (sizes > len(columns)).any() or int(sizes.sum()) != len(columns):
            raise ValueError("the sizes of the groups do not fit the columns")
        if len(columns) and (columns.min() < 0 or columns.max() >= n_columns or len(np.unique(columns)) < len(columns)):
            raise ValueError("a column is out of range, or is there twice")
        if z.shape != (n_heads, len(columns)) or {len(arrays["z_b"]), len(arrays["past"])} != {n_heads}:
            raise ValueError("z does not fit the columns and heads")
        return cls(
            n_columns=n_columns,
            intercept=intercept,
            dtype=np.dtype(dtype),
            policy=policy,
            tally=tally,
            groups=_groups(columns, sizes, arrays.get("precisions")),
            z=z,
            z_b=arrays["z_b"],
            P_b=P_b,
            past=arrays["past"],
            sigma=sigma,
            has_covariance="precisions" in arrays,
            theta=arrays["theta"],
            stopped_by=get_args(Stop)[int(stop)],
        )


def shares(a: Floats, sigma: float) -> Floats:
    """c_k = max(0, 1 - s/a_k) / sigma with sum_k max(0, a_k - s) = sigma s."""
    ordered = np.sort(a)[::-1]
    s_p = np.cumsum(ordered) / (sigma + np.arange(1, len(a) + 1))
    above = np.flatnonzero(ordered > s_p)
    s = s_p[above[-1]] if len(above) else 0.0
    return np.where(a > s, (1 - s / np.where(a > s, a, 1.0)) / sigma, 0.0)


def _groups(columns: Ints, sizes: Ints, packed: Floats | None) -> tuple[Group, ...]:
    if packed is not None and int((sizes * (sizes + 1) // 2).sum()) != len(packed):
        raise ValueError("the precisions do not fit the sizes of the groups")
    groups, at, end = [], 0, 0
    for size in sizes.tolist():
        of_group = columns[at : at + size]
        at += size
        if (np.diff(of_group) <= 0).any():
            raise ValueError("the columns of a group do not ascend")
        P = None
        if packed is not None:
            P = np.zeros((size, size))
            P[np.tril_indices(size)] = packed[end : end + size * (size + 1) // 2]
            P = P + np.tril(P, -1).T
            end += size * (size + 1) // 2
            # P - I is positive semidefinite, up to rounding errors.
            scale = 1 / np.sqrt(np.maximum(P.diagonal(), 1))
            least = np.linalg.eigvalsh(P * np.outer(scale, scale))[0]
            if (P.diagonal() < 1).any() or least < -64 * size * np.finfo(np.float64).eps:
                raise ValueError("a precision is not positive definite")
        groups.append(Group(of_group, P))
    return tuple(groups)
