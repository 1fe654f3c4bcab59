"""
A world that changes
====================

A learner that forgets recovers from a drift. One that remembers everything does not.
"""

# %%
# The concept changes after 20,000 rows.

from sureline import AROW, ODCA
from sureline.datasets import make_drift
from sureline.evaluate import prequential

X, y = make_drift(40_000, 50, drifts=[20_000], random_state=0)
learners = {
    "ODCA, all rows": ODCA(rho=0.1),
    "ODCA, half-life 1,000": ODCA(rho=0.1, window="exponential", half_life=1_000),
    "AROW": AROW(),
}
result = prequential(learners, (X, y), window=2_000, drifts=[20_000])
print(result)

# %%
chart = result.plot()
