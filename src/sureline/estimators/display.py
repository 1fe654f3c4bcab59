"""How estimators look in a notebook, and which of their names are public."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

_LARGEST = 100_000  # numbers in an attribute that is shown in full

# The public names of learners, which have no scikit-learn base.
_OF_LEARNERS = frozenset(
    (
        *("learn_one", "predict_one", "predict_proba_one", "predict_std_one", "explain_one", "wants_label_one"),
        *("explain", "wants_label", "top_weights", "as_published", "published", "search_space", "algorithm", "paper"),
    )
)
# Attributes with a number, or a pair of numbers, for each feature.
_WIDE = frozenset(("coef_", "sparse_coef_", "covariance_", "intercept_covariance_", "scale_", "feature_names_in_"))


class NotShown:
    """A placeholder for arrays as wide as the model."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __repr__(self) -> str:
        return f"of {self.width:,} features"


def names_for_users(self: Any) -> list[str]:
    """``__dir__`` of an estimator: parameters, fitted attributes and public methods."""
    inner = {
        name
        for kind in type(self).__mro__
        if kind.__module__.startswith(("sureline.learners", "sureline.models"))
        for name in vars(kind)
        if not name.endswith("_")
    }
    own = set(self.get_params(deep=False)) | _OF_LEARNERS
    outer = {
        name
        for kind in type(self).__mro__
        if not kind.__module__.startswith(("sureline.learners", "sureline.models"))
        for name in vars(kind)
    }
    names = {name for name in object.__dir__(self) if not name.startswith("_")}
    return sorted(name for name in names if name not in inner or name in own or name in outer)


def fitted_attributes(self: Any, doc_link: str = "") -> Any:
    """The fitted attributes in scikit-learn's HTML view, in constant time."""
    width = getattr(self, "n_features_in_", 0)
    shown: dict[str, Any] = {}
    for name in names_for_users(self):
        if not name.endswith("_"):
            continue
        if name in _WIDE and (width > _LARGEST or (name.startswith("covariance") and width**2 > _LARGEST)):
            shown[name] = NotShown(width)
            continue
        try:
            shown[name] = getattr(self, name)
        except AttributeError:  # not available with these parameters
            continue
    return BaseEstimator._get_fitted_attr_html(_glance(type(self), shown), doc_link)


def _glance(kind: type, attributes: dict[str, Any]) -> Any:
    """An object with these attributes that claims to be of that class."""

    class Glance:
        __class__ = property(lambda _: kind)

        def __dir__(self) -> list[str]:
            return list(attributes)

        def __getattr__(self, name: str) -> Any:
            try:
                return attributes[name]
            except KeyError:
                raise AttributeError(name) from None

    return Glance()
