"""
Feature selection
=================

Select 100 of 20,000 features, and compare selectors: accuracy and time against the number of features.
"""

# %%
# 100 relevant features, in correlated groups.

from sureline import FGM, SBCW, SOFS, SparseDCA, feature_path
from sureline.datasets import make_correlated_groups

X, y, relevant = make_correlated_groups(2_000, 20_000, random_state=0)
path = feature_path([SBCW(), FGM(), SparseDCA(), SOFS()], X, y, [20, 50, 100])
print(path)

# %%
# Accuracy is on the left, time on the right. ``SOFS`` makes one pass; the others see all rows at once.

chart = path.plot().properties(
    description="Accuracy and training time against the number of features: SBCW is accurate and fast, SOFS is faster "
    "and far less accurate."
)
