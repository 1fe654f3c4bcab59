"""Golden integers: mistakes, updates and nonzeros on a fixed stream. They change only if an algorithm does."""

import numpy as np
from catalogue import ALL
from sklearn.datasets import load_breast_cancer, load_digits

# learner: (mistakes, updates, nonzeros) on 569 tumours with 30 features, then on 1797 digits with 10 times 64
GOLDEN = {
    "Perceptron": (80, 81, 30, 312, 314, 525),
    "PA-hard": (74, 222, 30, 206, 1132, 555),
    "PA-I-0.5": (76, 221, 30, 206, 1132, 555),
    "PA-II-0.5": (73, 260, 30, 213, 1151, 554),
    "ROMMA-False": (66, 67, 30, 276, 277, 533),
    "ROMMA-True": (71, 163, 30, 209, 1202, 559),
    "ALMA-0.8": (76, 106, 30, 303, 515, 537),
    "SOP-2.0-diag": (82, 83, 30, 309, 310, 526),
    "IELLIP-0.4-0.2-diag": (81, 82, 30, 338, 339, 519),
    "CW-0.7-diag": (64, 206, 30, 196, 1119, 558),
    "AROW-0.5-diag": (54, 311, 30, 182, 1065, 552),
    "NAROW-2.0-diag": (119, 135, 30, 182, 1073, 553),
    "NHERD-0.5-diag": (55, 454, 30, 171, 1148, 553),
    "SCW-I-0.3-0.75-diag": (55, 219, 30, 188, 1137, 554),
    "SCW-II-0.3-0.8-diag": (55, 263, 30, 186, 1179, 555),
    "SOP-2.0-full": (44, 45, 30, 157, 158, 519),
    "IELLIP-0.4-0.2-full": (67, 68, 30, 323, 324, 529),
    "CW-0.7-full": (37, 109, 30, 114, 740, 551),
    "AROW-0.5-full": (27, 351, 30, 98, 922, 554),
    "NAROW-2.0-full": (283, 24, 30, 99, 938, 554),
    "NHERD-0.5-full": (55, 502, 30, 100, 1178, 556),
    "SCW-I-0.3-0.75-full": (36, 141, 30, 104, 731, 551),
    "SCW-II-0.3-0.8-full": (39, 241, 30, 102, 840, 555),
    "CSOGD-0.5-slope-(3.0, 0.5)": (167, 231, 30, 196, 1500, 568),
    "CSOGD-0.02-margin-(3.0, 0.5)-squared_hinge-0.7": (177, 569, 30, 350, 1797, 610),
    "CPA-0.5-(4.0, 0.5)": (80, 81, 30, 285, 630, 545),
    "CPA-0.5-balanced": (84, 85, 30, 334, 335, 533),
    "PAUM-0.5-2.0-0.5": (79, 154, 30, 258, 740, 530),
    "OGD-0.5-log": (107, 569, 30, 203, 1797, 568),
    "OGD-0.5-hinge-0.0": (70, 141, 30, 300, 376, 516),
    "STG-0.1-0.02-7": (94, 310, 29, 657, 1289, 370),
    "STG-0.1-0.1-1-0.2-log": (136, 569, 23, 1628, 1797, 90),
    "FOBOS-0.7-0.05": (142, 396, 30, 1200, 1778, 244),
    "FOBOS-0.7-0.02-log": (127, 569, 30, 820, 1797, 318),
    "RDA-2.0-0.01": (136, 388, 25, 326, 1592, 221),
    "RDA-2.0-0.005-0.1-log": (175, 569, 18, 517, 1797, 125),
    "AdaFOBOS-0.5-0.02-0.5": (79, 294, 30, 482, 1288, 372),
    "AdaFOBOS-0.5-0.01-0.5-squared_hinge": (59, 342, 30, 211, 920, 401),
    "AdaRDA-0.5-0.02-0.5": (94, 346, 14, 408, 1591, 88),
    "AdaRDA-0.5-0.01-0.5-log": (91, 569, 17, 383, 1797, 75),
    "FTRL-0.3-0.5-0.1": (83, 569, 26, 195, 1797, 459),
    "FTRL-0.3-0.5-0.1-hinge": (74, 291, 29, 200, 583, 466),
    "FSOL-0.1-2.0": (80, 268, 26, 267, 608, 376),
    "FSOL-0.1-0.01-t-balanced": (84, 271, 22, 339, 1063, 117),
    "FSOL-0.1-50.0-1/t-log": (86, 569, 30, 234, 1797, 544),
    "SSOL-0.5-3.0-2.0-diag": (98, 383, 30, 303, 1693, 553),
    "SSOL-0.5-3.0-2.0-full": (34, 536, 30, 186, 1797, 596),
    "SSOL-0.5-0.02-2.0-diag-constant-balanced": (110, 390, 30, 324, 1723, 444),
    "SSOL-0.5-0.0001-full-t-(3.0, 0.5)-log": (117, 569, 24, 922, 1797, 29),
    "SOFS-5-0.5": (173, 563, 5, 1152, 1797, 50),
    "FOFS-5-0.2-0.01": (77, 321, 5, 865, 1461, 50),
    "FOFS-6-0.3-0.2": (191, 378, 6, 1629, 1634, 60),
    "FOFS-7-0.05-0.0": (110, 392, 7, 598, 1532, 70),
    "ODCA-0.05": (94, 353, 30, 321, 1604, 567),
    "ODCA-0.02-exponential-0.97": (180, 383, 30, 1296, 1794, 574),
    "ODCA-0.2-sliding-60": (159, 403, 30, 1078, 1723, 472),
    "ODCA-0.02-log-elastic_net-0.2": (95, 569, 24, 385, 1797, 203),
    "ODCA-0.05-exponential-30-elastic_net-0.5": (161, 470, 7, 1532, 1796, 39),
    "ODCA-0.2-sliding-80-elastic_net-huber": (128, 569, 30, 950, 1797, 468),
    "ODCA-0.05-exponential-0.9-squared_hinge-0.95": (150, 516, 30, 999, 1786, 574),
    "ODCA-0.05-sliding-30-absolute-1.0": (76, 569, 30, 318, 1797, 568),
    "ODCA-0.05-exponential-0.95-elastic_net-0.3-0.9": (137, 492, 29, 1361, 1792, 438),
    "ODCA-0.2-kl-log": (212, 569, 30, 683, 1797, 640),
    "ODCA-0.2-kl-exponential-0.97-0.5": (212, 569, 30, 1598, 1797, 640),
    "ODCA-0.2-kl-sliding-40-squared": (212, 569, 30, 1599, 1797, 640),
    "FSOL-0.1-7": (168, 401, 7, 1466, 1797, 6),
    "AdaRDA-0.5-7": (206, 429, 7, 1458, 1797, 7),
    "SSOL-2.0-diag-7": (299, 550, 6, 1510, 1795, 7),
    "SSOL-2.0-full-7": (93, 492, 7, 1610, 1797, 5),
}


def run(case) -> tuple[int, int, int, int, int, int]:
    X, y = load_breast_cancer(return_X_y=True)
    two = case.make(fit_intercept=False).fit(X / X.max(axis=0), y)
    X, y = load_digits(return_X_y=True)
    ten = case.make().fit(X / 16, y)
    return two.n_mistakes_, two.n_updates_, two.nonzero_, ten.n_mistakes_, ten.n_updates_, ten.nonzero_


def test_golden() -> None:
    assert {str(case): run(case) for case in ALL} == GOLDEN


def test_counters_are_plain_integers() -> None:
    for case in ALL[:1]:
        model = case.make().fit(np.eye(3), [0, 1, 0])
        assert {type(model.n_seen_), type(model.n_mistakes_), type(model.n_updates_)} == {int}
