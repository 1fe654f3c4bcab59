"""
Batches
=======

BCW learns from batches of a table with a full covariance, in the time of a matrix product.
"""

# %%
# Error on new rows after each batch of 2,000, compared with learners that update row by row.

import altair as alt
import pandas as pd

from sureline import AROW, BCW, PA
from sureline.datasets import make_cover_type

X, y = make_cover_type(30_000, random_state=0)
learners = {"BCW": BCW(), "AROW": AROW(), "PA": PA()}
rows = []
for start in range(0, 20_000, 2_000):
    for name, clf in learners.items():
        clf.partial_fit(X[start : start + 2_000], y[start : start + 2_000], classes=[0, 1])
        rows.append({"rows": start + 2_000, "learner": name, "test error": 1 - clf.score(X[20_000:], y[20_000:])})

# %%
chart = (
    alt.Chart(
        pd.DataFrame(rows),
        width=460,
        height=280,
        description="Test error after each batch. BCW is the lowest and the steadiest, PA jumps up and down.",
    )
    .mark_line(point=True)
    .encode(x="rows", y=alt.Y("test error").scale(zero=False), color="learner")
)
