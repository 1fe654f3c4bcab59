"""
A figure of a paper
===================

Figure 1 of the SCW paper on a smaller stream: mistakes along a pass over noisy, rotated Gaussians. ``sureline reproduce
scw-figure1`` makes the whole figure, with the paper's claims and verdicts.
"""

# %%
from sureline import AROW, CW, NHERD, SCW
from sureline.datasets import make_rotated_gaussian
from sureline.evaluate import prequential

X, y = make_rotated_gaussian(5_000, 20, noise=0.1, random_state=0)
as_published = {"covariance": "full", "normalize": "none", "fit_intercept": False}
learners = {
    "CW": CW(eta=0.7, **as_published),
    "AROW": AROW(r=1.0, **as_published),
    "NHERD": NHERD(C=1.0, **as_published),
    "SCW-I": SCW(C=1.0, eta=0.75, **as_published),
    "SCW-II": SCW(variant="II", C=1.0, eta=0.75, **as_published),
}
result = prequential(learners, (X, y), window=500)
print(result)

# %%
# CW fits every label exactly, so noise hurts it most. SCW and AROW allow errors.

chart = result.plot().properties(
    description="Error of five second-order learners on noisy data. CW is the highest; SCW and AROW are the lowest."
)
