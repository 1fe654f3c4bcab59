"""Learners written in Python: a class that returns the step for a margin and a variance.

The rows, the weights, the classes, scaling, single examples and the contract of scikit-learn are those of every other
learner. Only the step is computed in Python, once for each row, or with more than two classes and
``multi_class="ovr"`` once for each row and class.

The step for an example x with the label y = 1 or -1 is

    w <- kappa w + alpha y S x        and, of a second-order learner,        S <- gamma (S - beta (S x)(S x)')

where m = y w.x is the margin and v = x'Sx the variance before it. A first-order learner has S = I, so v = |x|^2.

>>> from dataclasses import dataclass
>>> from sureline.custom import SecondOrderLearner, Step
>>> @dataclass(eq=False, repr=False)
... class MyAROW(SecondOrderLearner):
...     r: float = 1.0  # a field is a parameter
...
...     active_below = 1.0  # rows with a larger margin make no step
...
...     def step(self, m, v, weight):
...         beta = 1 / (v + self.r / weight)
...         return Step(alpha=(1 - m) * beta, beta=beta)

It is an estimator, and takes part wherever one does:

>>> import sureline
>>> from sureline.datasets import make_sparse_stream
>>> X, y = make_sparse_stream(2000, 1000, 20, random_state=0)
>>> mine, ours = MyAROW(r=2.0).fit(X, y), sureline.AROW(r=2.0).fit(X, y)
>>> mine.n_mistakes_ == ours.n_mistakes_, bool(abs(mine.coef_ - ours.coef_).max() < 1e-12)
(True, True)
>>> mine.confidence(X).shape
(2000,)
>>> result = sureline.tournament([MyAROW(r=2.0), "perceptron"], (X, y))
>>> result.best
'MyAROW(r=2)'
"""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, nan
from numbers import Real
from threading import local
from typing import Any, ClassVar, NamedTuple, Self

from ._native import _core
from .estimators.base import GaussianAnswers
from .estimators.online import OnlineClassifier
from .learners.gaussian import GaussianLearner

__all__ = ["FirstOrderLearner", "SecondOrderLearner", "Step"]


class Step(NamedTuple):
    """The coefficients of w <- kappa w + alpha y S x and S <- gamma (S - beta (S x)(S x)')."""

    alpha: float
    beta: float = 0.0
    kappa: float = 1.0
    gamma: float = 1.0


_REFUSED = Step(nan)  # the core refuses this step and undoes the row


class _Raised(local):
    """Exceptions of steps in this thread's current call. A learner taught inside a step has its own."""

    errors: list[BaseException] = []  # noqa: RUF012  # of nobody


_raised = _Raised()


class FirstOrderLearner(OnlineClassifier):
    """Base of first-order learners written in Python: a step goes along x.

    A subclass is a dataclass, ``@dataclass(eq=False, repr=False)``, whose fields are its parameters, and has `step`.
    What `step` raises comes out of `fit` or `partial_fit`, and leaves the model as it was. A model can be pickled if
    its class can, but not saved to a file, which holds no code.
    """

    in_python: ClassVar[bool] = True
    active_below: ClassVar[float] = inf  # `step` is called only for margins below this

    @abstractmethod
    def step(self, m: float, v: float, weight: float) -> Step | tuple[float, ...] | float:
        """The step for a margin, a variance and a sample weight, both positive: a Step, or alpha alone."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        with self._own_errors():
            return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        with self._own_errors():
            return super().partial_fit(X, y, classes, sample_weight)

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        with self._own_errors():
            return super().learn_one(x, y, sample_weight)

    def take(self, *arguments: Any, **named: Any) -> None:
        with self._own_errors():
            super().take(*arguments, **named)

    def _rule(self) -> _core.Rule:
        learner = weakref.ref(self)  # the rule may outlive a call, and must not keep the learner alive

        def coefficients(m: float, v: float, weight: float) -> tuple[float, ...]:
            self = learner()
            assert self is not None
            try:
                return self._checked(self.step(m, v, weight))
            except BaseException as error:
                _raised.errors.append(error)
                return _REFUSED

        return _core.PythonRule(coefficients, float(self.active_below))

    def _checked(self, step: Any) -> tuple[float, ...]:
        try:
            return tuple(map(float, Step(float(step)) if isinstance(step, Real) else Step(*step)))
        except (TypeError, ValueError):
            raise TypeError(
                f"step of {type(self).__name__} must return alpha, or a Step of alpha, beta, kappa and gamma. "
                f"Got {step!r} instead."
            ) from None

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Raise the exception of `step` instead of the core's refusal."""
        before = _raised.errors
        errors: list[BaseException] = []
        _raised.errors = errors
        try:
            yield
        except ValueError:
            if errors:
                raise errors[0] from None
            raise
        finally:
            _raised.errors = before


class SecondOrderLearner(GaussianAnswers, FirstOrderLearner, GaussianLearner):
    """Base of second-order learners written in Python: weights have a covariance, diagonal or full.

    As `FirstOrderLearner`, with ``covariance="diag"`` or ``"full"``, and with `confidence`, `predict_proba` and
    `decision_std`.
    """
