"""
Drift
=====

A learner that forgets recovers quickly after each drift. One that remembers all rows takes longer each time.
"""

# %%
# The concept changes three times. Old rows then say nothing about new ones.

from sureline import AROW, ODCA
from sureline.datasets import make_drift
from sureline.evaluate import prequential

drifts = [10_000, 20_000, 30_000]
X, y = make_drift(40_000, 50, drifts=drifts, random_state=0)
learners = {
    "ODCA, all rows": ODCA(rho=0.1),
    "ODCA, half-life 3,000": ODCA(rho=0.1, window="exponential", half_life=3_000),
    "AROW": AROW(),
}
result = prequential(learners, (X, y), window=2_000, drifts=drifts)
print(result)

# %%
# Forgetting has a price: without drift, more rows are better. ``half_life`` sets the balance.

chart = result.plot().properties(
    description="Error of three learners along a stream with three drifts. After each drift the one that forgets falls "
    "back to its old error first; AROW does not recover."
)
