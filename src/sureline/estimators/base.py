"""The base of the classifiers: their answers, and the classes that they know."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._inputs import Array, Floats, Labels, class_indices, exact_labels, sorted_classes
from ..learners.abstention import AbstentionWarning, abstention_of
from ..learners.asking import checked_rate, wanted
from ..learners.class_weight import refuse_strangers
from ..learners.explanation import Explanation
from ..learners.guarded import asks, teaching
from ..learners.learner import ClassLearner
from ..learners.novelty import Novelty, std_ratio, unseen_share_of
from ..learners.origin import Origin
from ..models.device.exchange import chosen_labels, handed_back
from .checking import explained, validated, weights_to_fit, with_columns_in_order, with_sparse_input
from .display import fitted_attributes, names_for_users


class Classifier(ClassifierMixin, BaseEstimator, ClassLearner):  # type: ignore[misc]  # scikit-learn has no types
    """A learner of classes as an estimator."""

    __dir__ = names_for_users
    _get_fitted_attr_html = fitted_attributes

    def __sklearn_is_fitted__(self) -> bool:
        return self.has_begun

    def __sklearn_tags__(self) -> Any:
        return with_sparse_input(super().__sklearn_tags__())

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name. Waits for a call that learns."""
        with teaching(self):
            super().set_params(**parameters)
        return self

    # -- answers ---------------------------------------------------------------------------------------------

    @asks
    def decision_function(self, X: Any) -> Floats:
        """Scores, of shape (n_samples,) for ``classes_[1]`` of two classes, else (n_samples, n_classes).

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        scores: Floats = self._judge_there(X)[0]
        return handed_back(scores[:, 0] if scores.shape[1] == 1 else scores, X)

    @asks
    def predict(self, X: Any) -> Array:
        """The predicted class of each row. A score of 0 means the first of two classes. Ties go to the first class."""
        chosen = self.chosen(self._judge_there(X)[0])  # first, as an estimator without a model has no classes either
        labels: Array = handed_back(chosen_labels(self.classes_, chosen), X)
        return labels

    @asks
    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probability of each class, of shape (n_samples, n_classes).

        It is learned from the predictions that preceded their labels in `fit`, `partial_fit` and `learn_one`. `predict`
        goes by the scores, as published: where one class is rare, or mistakes have different costs, the most probable
        class can be another one than the predicted one.
        """
        return handed_back(self.probabilities(*self._judge_there(X, variances=self.has_variances)), X)

    @asks
    def confidence(self, X: Any) -> Floats:
        """Calibrated probability that the predicted label is the right one, of shape (n_samples,).

        Of the answers with a confidence of 0.9, nine of ten are right, as long as rows come from the same source. It is
        the entry of the predicted class in `predict_proba`.
        """
        return handed_back(self.confidences(*self._judge_there(X, variances=self.has_variances)), X)

    @asks
    def novelty(self, X: Any) -> Novelty:
        """Novelty of each row: the share of its features never seen, and the std of its score relative to training.

        Returns
        -------
        Novelty
            `unseen`, and `std_ratio` or None, each of shape (n_samples,).

        Examples
        --------
        >>> import numpy as np
        >>> from sureline import AROW
        >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 1, 0]])
        >>> clf = AROW().fit(X, [1, 0, 1, 0])
        >>> clf.novelty(np.array([[1.0, 1, 0], [0, 1, 1]])).unseen.tolist()
        [0.0, 0.5]
        """
        check_is_fitted(self)

        def judged(X: Any) -> Novelty:
            scores, variances = self.judge(X, variances=self.has_variances)
            return Novelty(unseen_share_of(self, X), std_ratio(self, scores, variances))

        return with_columns_in_order(validated(self, X), judged)

    @asks
    def wants_label(self, X: Any, rate: float = 0.1) -> Array:
        """True for rows worth labelling, of shape (n_samples,): those where the model is least sure.

        Certainty is the distance of the score from the boundary, in standard deviations if the learner has them. With
        more than two classes it is the distance between the two best classes. A row is worth labelling if it is less
        sure than all but a share `rate` of the predictions made during training. So about this share of new rows from
        the same source is wanted, and more of rows that differ.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        rate : float, default=0.1
        """
        rate = checked_rate(rate, "rate")
        return wanted(self, *self._judge(X, variances=self.has_variances), rate)

    @asks
    def predict_or_abstain(
        self, X: Any, max_error: float = 0.01, cost: tuple[float, float] | None = None
    ) -> np.ma.MaskedArray[Any, Any]:
        """Predict where the model is sure enough that at most a share `max_error` of the answers is wrong.

        The threshold on the confidence follows from the predictions made before each label was known. It is the
        lowest value at which a 95 % upper bound of the error of all such answers is within `max_error`. The score must
        also reach a guard that rises with recent mistakes. Without enough evidence nothing is answered, and an
        AbstentionWarning says why.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        max_error : float, default=0.01
            The share of the answers that may be wrong; with `cost` the cost of an answer, on average.
        cost : pair of floats, default=None
            Of a missed positive and of a false alarm, for two classes.

        Returns
        -------
        masked array of shape (n_samples,)
            The labels in their own dtype, masked where there is no answer: ``answers.mask`` is True there,
            ``answers.compressed()`` has the others, and ``answers.tolist()`` has None.

        Examples
        --------
        >>> from sureline import AROW
        >>> from sureline.datasets import make_sparse_gaussian
        >>> X, y = make_sparse_gaussian(20_000, random_state=0)
        >>> clf = AROW().fit(X[:10_000], y[:10_000])
        >>> answers = clf.predict_or_abstain(X[10_000:], max_error=0.02)
        >>> wrong = answers != y[10_000:]
        >>> print(f"{answers.count() / 10_000:.2f} answered, {wrong.mean():.3f} of them wrong")
        0.79 answered, 0.013 of them wrong
        """
        scores, variances = self._judge(X, variances=self.has_variances)
        rule = abstention_of(self, max_error, cost)
        if rule.why:
            warnings.warn(rule.in_words(), AbstentionWarning, stacklevel=3)
        answered = rule.answers(self, scores, variances)
        return np.ma.MaskedArray(self.classes_[self.chosen(scores)], mask=~answered)

    @asks
    def coverage(self, max_error: float = 0.01, cost: tuple[float, float] | None = None) -> float:
        """The share of rows that `predict_or_abstain` would answer at that error, estimated from the latest rows.

        It is 0 if there is not enough evidence.
        """
        check_is_fitted(self)
        return abstention_of(self, max_error, cost).coverage

    @asks
    def explain(self, X: Any, n: int | None = None) -> list[Explanation]:
        """Contributions of features to the score of each row of X, the largest first.

        Contributions, intercept and rest sum to the score: that of ``classes_[1]`` if there are two classes, that of
        the predicted class alone if there are more.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of examples as its stream had them
        n : int, default=None
            Contributions of a row at most; None for all that are not zero.

        Returns
        -------
        list of Explanation
        """
        return explained(self, X, n)

    def _judge(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        """Scores of the rows of X, and their variances if wanted; one column per head.

        Only with `growing` can X have more columns than the model. Nothing was learned about those: they have no
        weight, and the variance that every feature starts with.
        """
        check_is_fitted(self)
        return with_columns_in_order(validated(self, X), lambda X: self.judge(X, variances=variances))

    def _judge_there(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        """The same where the rows are: on their device, if the learner goes there."""
        return self._judge(X, variances=variances)

    # -- classes ---------------------------------------------------------------------------------------------

    def _all_to_learn_from(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array, Any]:
        """The checked input of `fit` and its classes: X, y, classes, weights."""
        X, y = validated(self, X, y, reset=True)
        self.origin = Origin()
        classes = sorted_classes(y)
        if y.dtype.kind not in "biu":
            check_classification_targets(y)
        if len(classes) < 2 and not self.growing:
            raise ValueError(
                f"{type(self).__name__} needs examples of at least 2 classes. Got one class, {classes.tolist()}; "
                "with growing=True, or with partial_fit and classes=[...], the others may come later."
            )
        return X, y, classes, weights_to_fit(sample_weight, X.shape[0])

    def _known_classes(self, classes: Any, first: bool) -> Array:
        given = None if classes is None else sorted_classes(np.asarray(exact_labels(classes)))
        if not first:
            if given is not None and not np.array_equal(given, self.classes_) and not self.growing:
                raise ValueError(
                    f"classes={given.tolist()} is not what the first call of partial_fit got: {self.classes_.tolist()}."
                )
            return self.classes_ if given is None else self._with_new_classes(self.classes_, given)
        if given is None:
            if not self.growing:
                raise ValueError("classes must be passed to the first call of partial_fit, unless growing=True.")
            self._refuse_unnamed_classes()
            return np.empty(0)
        if len(given) < 2 and not self.growing:
            raise ValueError(f"classes must name at least 2 classes. Got {given.tolist()} instead.")
        return given

    def _labels_of(self, y: Array, known: Array) -> tuple[Array, Labels]:
        """The classes, with new ones of y if the learner may grow, and the position of each label in them."""
        labels = class_indices(y, known)
        if (labels < 0).any():
            row = int(np.argmax(labels < 0))
            if not self.growing:
                raise ValueError(
                    f"y has the label {y.tolist()[row]!r} in row {row}, which is not among the classes "
                    f"{known.tolist()}; name all classes in the first call of partial_fit, or set growing=True."
                )
            sorted_classes(y)  # refuses labels that cannot be sorted
            check_classification_targets(y)
            known = self._with_new_classes(known, y[labels < 0])
            labels = class_indices(y, known)
        return known, labels

    def _refuse_strange_weights(self, known: Array) -> None:
        """Raise ValueError if `class_weight` names an unknown class and no new class can come."""
        if isinstance(self.class_weight, Mapping) and not self.growing:
            refuse_strangers(self.class_weight, known.tolist())

    @staticmethod
    def _with_new_classes(known: Array, labels: Array) -> Array:
        """`known`, then the other labels in the order of their first appearance."""
        distinct, first_seen = np.unique(labels, return_index=True)
        distinct = distinct[np.argsort(first_seen)]
        if len(known) == 0:
            return distinct
        kinds = {distinct.dtype.kind, known.dtype.kind}
        texts = kinds == {"O", "U"} and all(isinstance(label, str) for label in (*known, *distinct))
        if len(kinds) > 1 and not texts and not kinds <= set("biuf"):
            raise ValueError(
                f"y has labels of another type than the classes so far, {known.tolist()}. Got {distinct.tolist()[0]!r}."
            )
        return np.concatenate([known, distinct[~np.isin(distinct, known)]])


class GaussianAnswers(Classifier):
    """Answers of a learner with a covariance, which knows how sure its scores are."""

    @asks
    def decision_std(self, X: Any) -> Floats:
        """Standard deviation of the score, sqrt(x'Sx), in the shape of `decision_function`.

        Small where the features of the row have been seen often, whatever the score.
        """
        std: Floats = np.sqrt(self._judge_there(X, variances=True)[1])
        return handed_back(std[:, 0] if std.shape[1] == 1 else std, X)

    @asks
    def belief(self, X: Any) -> Floats:
        """Probability of each class under the distribution of the weights, of shape (n_samples, n_classes).

        With two classes Pr[M >= 0] = Phi(f / std) for the margin M of the second. With more, each class is compared
        with its best rival as in learning, Phi((f_k - f_rival) / sqrt(v_k + v_rival)), and the row is scaled to sum to
        one. These are the model's beliefs, not measured shares of right answers. For calibrated probabilities see
        `predict_proba` and `confidence`.
        """
        judged = self._judge_there(X, variances=True)
        return handed_back(self.belief_link.probabilities(*judged, len(self.classes_)), X)
