"""The parameters that all estimators share, written down once for their docstrings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..models.scaling import DEFAULT

C = TypeVar("C", bound=type)

NORMALIZE = f"""normalize : {{"none", "row", "scale"}}, default="{DEFAULT}"
        Divide each value by the mean size of its feature so far ("scale"), each row by its Euclidean length ("row"), or
        nothing ("none"). The mean is over nonzero absolute values in the rows learned from, including the present one.
        So 0/1 data do not change, and the unit of a feature does not matter. Rows to predict are divided by the same
        scales; values of unseen features become 1 or -1. `coef_` is for unscaled X; with "row", for divided rows."""
CLASS_WEIGHT = """class_weight : dict, "balanced" or None, default=None
        Weight of the examples of each class, multiplied by the sample weight; 1 for labels that are not in the dict.
        "balanced" is n / (K n_k) for n rows of K classes, n_k of them in the class. `fit` counts all rows of y, as
        scikit-learn does. `partial_fit`, `learn_one` and streams count the rows and classes so far, over all passes and
        including the present row. Rows of weight 0 do not count. Confidences are calibrated without class weights.
        Updates that satisfy a constraint exactly (CW, ROMMA, IELLIP, PA with ``variant="hard"``) do not depend on the
        weight, unless it is 0."""
_GROWING = """growing : bool, default=False
        Let `partial_fit` accept more columns than before and new classes. Columns are then identified by position:
        names of a data frame are not compared, and rows to predict may be narrower or wider than the model."""
_RANDOM_STATE = """random_state : int, RandomState instance or None, default=None
        For `shuffle`. "auto" takes None for 0."""
_OF_BATCHES = """{class_weight}
    {growing}
    shuffle : bool or "auto", default="auto"
        Let `fit` take the rows in a random order. By default it does so, with a `LabelRunsWarning`, if their labels
        come in runs. `partial_fit` never reorders.
    {random_state}"""
_SCALE = """scale_ : array of shape (n_features,)
        With ``normalize="scale"`` the divisor of each feature; 1 for features that were never seen."""

COMMON = """{normalize}
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1.
    dtype : {"float64", "float32"}, default="float64"
        Type of the weights. float32 halves the memory and is faster on wide data.
    multi_class : {"native", "ovr"}, default="native"
        With more than two classes: move the true class and its best rival, or learn each class against the rest.
    {class_weight}
    {growing}
    average : bool or float, default=False
        Predict with the average of the weights along the stream: True for equal weights, a number for a half-life
        in examples. Training continues from the last weights. `coef_`, scores, probabilities and `n_mistakes_` are
        those of the average. Not available with a bound on the number of nonzero weights.
    bits : int, default=20
        For `learn_one` and `predict_one`: named features are hashed to 2**bits columns.
    passes : int, default=1
        Number of passes of `fit` over the rows.
    shuffle : bool or "auto", default="auto"
        Let `fit` visit the rows in a new random order in each pass. By default it does so, with a `LabelRunsWarning`,
        if their labels come in runs: after a pass over rows sorted by class, a model mostly knows the last class.
        Rows in random order are shuffled with a probability of at most 1e-6. `partial_fit` never reorders.
    {random_state}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels; with two of them the second is the positive one.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        The weights.
    intercept_ : array of shape (1,) or (n_classes,)
        The intercepts.
    n_features_in_ : int
        Number of columns.
    {scale}
    n_seen_ : int
        Examples learned from, over all passes; those of weight 0 do not count.
    n_mistakes_ : int
        Examples predicted wrongly just before they were learned from.
    n_updates_ : int
        Examples that changed the model.
    nonzero_ : int
        Weights in `coef_` that are not zero.
    sparsity_ : float
        Share of the weights in `coef_` that are zero.
    sparse_coef_ : CSR matrix of the shape of `coef_`
        The weights, without ever building the dense array.
    progressive_ : sureline.metrics.Tally
        Examples and mistakes of each class so far: error, sensitivity, specificity, balanced accuracy, cost."""

REGRESSION = """scale_target : bool, default=True
        Scale the targets. They are shifted by the first one, if there is an intercept. If the step depends on the unit
        of y (a `loss` other than "squared", an l1 penalty), they are also divided by the geometric mean of the
        differences between successive targets so far. Predictions and reports are in the units of y.
    {normalize}
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1.
    dtype : {"float64", "float32"}, default="float64"
        Type of the weights. float32 halves the memory and is faster on wide data.
    growing : bool, default=False
        Let `partial_fit` accept more columns than before. Columns are then identified by position: names of a data
        frame are not compared, and rows to predict may be narrower or wider than the model.
    average : bool or float, default=False
        Predict with the average of the weights along the stream: True for equal weights, a number for a half-life
        in examples. Training continues from the last weights. `coef_`, predictions and the losses along the stream are
        those of the average.
    bits : int, default=20
        For `learn_one` and `predict_one`: named features are hashed to 2**bits columns.
    passes : int, default=1
        Number of passes of `fit` over the rows.
    shuffle : bool or "auto", default="auto"
        Let `fit` visit the rows in a new random order in each pass. By default it does so, with a `LabelRunsWarning`,
        if targets above and below their median come in runs. `partial_fit` never reorders.
    {random_state}

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The weights.
    intercept_ : array of shape (1,)
        The intercept.
    n_features_in_ : int
        Number of columns.
    {scale}
    n_seen_ : int
        Examples learned from, over all passes; those of weight 0 do not count.
    n_updates_ : int
        Examples that changed the model.
    progressive_loss_ : float
        Mean loss of all predictions so far, each made before its target was learned from. Sample weights other than 0
        do not count.
    nonzero_ : int
        Weights in `coef_` that are not zero.
    sparsity_ : float
        Share of the weights in `coef_` that are zero.
    sparse_coef_ : CSR matrix of shape (1, n_features)
        The weights, without ever building the dense array."""

COVARIANCE = (
    """covariance : {"diag", "full"}, default="diag"
        Shape of the covariance of the weights: a variance per weight, or the whole matrix (memory and time per
        update grow with the square of the number of features).
    """
    + COMMON
    + """
    covariance_ : array of the shape of `coef_`, or (1 or n_classes, n_features, n_features) if full
        Covariance of the weights.
    intercept_variance_ : array of shape (1,) or (n_classes,)
        Variance of the intercepts.
    intercept_covariance_ : array of the shape of `coef_`
        Covariance of each weight with its intercept; 0 if the covariance is diagonal."""
)

VARIANCES = (
    COMMON
    + """
    covariance_ : array of the shape of `coef_`
        Variances of the weights.
    intercept_variance_ : array of shape (1,) or (n_classes,)
        Variance of the intercepts."""
)

BATCH = (
    """{normalize}
        The means are those after all rows of the batch at hand have been counted.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1.
    dtype : {{"float64", "float32"}}, default="float64"
        Of the large matrix products; float32 is twice as fast. The model is float64 either way.
    multi_class : {{"native", "ovr"}}, default="native"
        With more than two classes: move the true class and its best rival, or learn each class against the rest.
    {of_batches}

"""
    + COMMON[COMMON.index("    Attributes") :].replace(", over all passes", "")
    + """
    covariance_ : array of shape (n_features, n_features)
        Covariance of the weights, the same for every class.
    intercept_variance_ : array of shape (1,) or (n_classes,)
        Variance of the intercepts.
    intercept_covariance_ : array of shape (n_features,)
        Covariance of each weight with its intercept, the same for every class."""
)

GROUPS = (
    """{normalize}
        The means are those after all rows of the batch at hand have been counted.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1 and belongs to no group.
    dtype : {{"float64", "float32"}}, default="float64"
        That rows of a stream are read in; arrays are taken as they are. The model is float64 either way.
    multi_class : {{"ovr"}}, default="ovr"
        With more than two classes each is learned against the rest, in groups that all share: the scores of the
        features are summed over the classes.
    {of_batches}

"""
    + COMMON[COMMON.index("    Attributes") :].replace(", over all passes", "")
    + """
    groups_ : list of arrays
        The selected columns, ascending in each group; the groups in the order in which they were found.
    theta_ : array of shape (n_iter_,)
        The objective (13) after each subproblem of the last batch, at the alphas that were reached.
    n_iter_ : int
        The number of subproblems of the last batch.
    stopped_by_ : str
        Why the last batch looked for no more groups: "n_features", "max_iter", "tol", "memory", or "no_features" if no
        other column had a score."""
)

KERNEL = (
    """{normalize}
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1: the kernel is k + 1.
    dtype : {{"float64", "float32"}}, default="float64"
        Of the stored examples; everything else is float64.
    multi_class : {{"native", "ovr"}}, default="native"
        With more than two classes: move the true class and its best rival, or learn each class against the rest.
    {of_batches}

"""
    + COMMON[COMMON.index("    Attributes") :]
    .replace(", over all passes", "")
    .replace("The weights.", "The weights, with the linear kernel only, as all that follows from them.")
    + """
    n_examples_ : int
        Examples that are stored.
    examples_ : array or CSR matrix of shape (n_examples_, n_features)
        Those examples.
    nu_ : array of shape (1 or n_classes, n_examples_)
        Coefficients of the mean: the score is the sum of nu k(example, x).
    pi_ : array of shape (1 or n_classes, n_examples_, n_examples_)
        Coefficients of the covariance, computed when they are asked for.
    covariance_ : array of shape (1 or n_classes, n_features, n_features)
        Covariance of the weights, with the linear kernel only.
    intercept_variance_ : array of shape (1,) or (n_classes,)
        Variance of the intercepts.
    intercept_covariance_ : array of the shape of `coef_`
        Covariance of each weight with its intercept, with the linear kernel only."""
)

LOSS = """loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        Loss of the margin m = y w.x: max(0, 1 - m), its square, or ln(1 + exp(-m)). The paper uses the hinge.
    """

COST = """cost : pair of floats, "balanced" or None, default=None
        What a mistake costs: on a positive example (the second class) and on a negative one, in this order. "balanced"
        makes both classes count the same: a positive example counts T- / T+ times, with the numbers of examples seen so
        far, itself included, and once while only one class has been seen. With more than two classes and
        ``multi_class="ovr"`` the positive examples of a problem are those of its class; natively only "balanced" has a
        meaning, and an example counts T / (K T_y) times for T examples of K classes, T_y of them of its own.
    """

BUDGET = """max_nonzero : int or None, default=None
        A budget instead of a penalty: at most this many weights are nonzero, in all classes together and without the
        intercepts, at any time. The threshold that `lam` would set starts at 0. When an example leaves more weights
        nonzero, it rises until nine tenths of the budget are left; when fewer than three quarters are left and the
        stream is longer by a quarter than at the last time, it is chosen anew as the smallest that keeps the budget.
        Expect some nine tenths of the budget to be used. As with a penalty the weights that stay are shrunk, so a
        larger `eta` often helps where the budget is tight. Weights of equal size come and go together. Needs ``lam=0``.
    """


# In the order of insertion: a fragment inside another comes after it.
_FRAGMENTS = {
    "of_batches": _OF_BATCHES,
    "normalize": NORMALIZE,
    "class_weight": CLASS_WEIGHT,
    "growing": _GROWING,
    "random_state": _RANDOM_STATE,
    "scale": _SCALE,
}


def documented(common: str) -> Callable[[C], C]:
    """Put `common` in the place of {common} in the docstring of a class, and the fragments that both name in theirs."""

    def fill(cls: C) -> C:
        text = (cls.__doc__ or "").replace("{common}", common).replace("{{", "{").replace("}}", "}")
        for name, fragment in _FRAGMENTS.items():
            text = text.replace(f"{{{name}}}", fragment)
        cls.__doc__ = text
        return cls

    return fill
