"""Golden integers: mistakes and updates on a fixed stream. They change only if an algorithm does."""

import numpy as np
from catalogue import ALL
from sklearn.datasets import load_breast_cancer, load_digits

# learner: (mistakes, updates) on 569 tumours, (mistakes, updates) on 1797 digits
GOLDEN = {
    "Perceptron": (80, 81, 312, 314),
    "PA-hard": (74, 222, 206, 1132),
    "PA-I-0.5": (76, 221, 206, 1132),
    "PA-II-0.5": (73, 260, 213, 1151),
    "ROMMA-False": (66, 67, 276, 277),
    "ROMMA-True": (71, 163, 209, 1202),
    "ALMA-0.8": (76, 106, 303, 515),
    "SOP-2.0-diag": (82, 83, 309, 310),
    "IELLIP-0.4-0.2-diag": (81, 82, 338, 339),
    "CW-0.7-diag": (64, 206, 196, 1119),
    "AROW-0.5-diag": (54, 311, 182, 1065),
    "NAROW-2.0-diag": (119, 135, 182, 1073),
    "NHERD-0.5-diag": (55, 454, 171, 1148),
    "SCW-I-0.3-0.75-diag": (55, 219, 188, 1137),
    "SCW-II-0.3-0.8-diag": (55, 263, 186, 1179),
    "SOP-2.0-full": (44, 45, 157, 158),
    "IELLIP-0.4-0.2-full": (67, 68, 323, 324),
    "CW-0.7-full": (37, 109, 114, 740),
    "AROW-0.5-full": (27, 351, 98, 922),
    "NAROW-2.0-full": (283, 24, 99, 938),
    "NHERD-0.5-full": (55, 502, 100, 1178),
    "SCW-I-0.3-0.75-full": (36, 141, 104, 731),
    "SCW-II-0.3-0.8-full": (39, 241, 102, 840),
}


def run(case) -> tuple[int, int, int, int]:
    X, y = load_breast_cancer(return_X_y=True)
    two = case.make(fit_intercept=False).fit(X / X.max(axis=0), y)
    X, y = load_digits(return_X_y=True)
    ten = case.make().fit(X / 16, y)
    return two.n_mistakes_, two.n_updates_, ten.n_mistakes_, ten.n_updates_


def test_golden() -> None:
    assert {str(case): run(case) for case in ALL} == GOLDEN


def test_counters_are_plain_integers() -> None:
    for case in ALL[:1]:
        model = case.make().fit(np.eye(3), [0, 1, 0])
        assert {type(model.n_seen_), type(model.n_mistakes_), type(model.n_updates_)} == {int}
