"""Every learner by its name."""

from __future__ import annotations

from .cost_sensitive import CPA, CSOGD, PAUM
from .feature_groups import FGM, SBCW
from .first_order import ALMA, OGD, PA, ROMMA, Perceptron
from .kernel import KernelSCW
from .learner import Learner
from .online_batch import BCW
from .online_dual import ODCA, ODCARegressor
from .online_selection import FOFS, SOFS
from .second_order import AROW, CW, IELLIP, NAROW, NHERD, SCW, SOP
from .sparse_descent import FOBOS, FTRL, RDA, STG, AdaFOBOS, AdaRDA
from .sparse_online import FSOL, SSOL

LEARNERS: dict[str, type[Learner]] = {
    learner.__name__: learner
    for learner in (
        *(Perceptron, PA, ROMMA, ALMA, OGD),
        *(SOP, IELLIP, CW, AROW, NAROW, NHERD, SCW),
        *(STG, FOBOS, RDA, AdaFOBOS, AdaRDA, FTRL, FSOL, SSOL),
        *(CSOGD, CPA, PAUM),
        *(SOFS, FOFS),
        *(ODCA, ODCARegressor),
        *(BCW, SBCW, FGM),
    )
}

# Those that are for data which is small: nobody trains them from a stream, but their models are files like others.
WITHOUT_COMMAND: dict[str, type[Learner]] = {KernelSCW.__name__: KernelSCW}

_IN_MEMORY = {"kernelscw", "l1svm", "sdca", "sparsedca"}
_BY_PLAIN_NAME = {name.lower(): learner for name, learner in LEARNERS.items()}


def learner_named(name: str) -> type[Learner]:
    """The learner of that name, written in any case, with or without a hyphen: "ssol", "Ada-RDA"."""
    try:
        return _BY_PLAIN_NAME[name.lower().replace("-", "").replace("_", "")]
    except KeyError:
        if name.lower() in _IN_MEMORY:
            raise ValueError(
                f"{name!r} is for data that is in memory, and does not learn from streams: use it from Python."
            ) from None
        raise ValueError(f"There is no algorithm {name!r}; there are {', '.join(sorted(_BY_PLAIN_NAME))}.") from None
