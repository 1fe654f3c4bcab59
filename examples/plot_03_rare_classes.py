"""
Rare classes and costs
======================

Without costs a classifier ignores a rare class. ``cost="balanced"`` follows the class counts along the stream.
"""

# %%
# 3.2 million features, 1 % positives, and a budget of 2000 nonzero weights.

import altair as alt
import pandas as pd

from sureline import SSOL
from sureline.datasets import make_stream_like
from sureline.metrics import tally

X, y = make_stream_like("url", 20_000, positive=0.01, random_state=0)
settings = {"no cost": (1.0, 1.0), "5 : 1": (5.0, 1.0), "20 : 1": (20.0, 1.0), "balanced": "balanced"}
rows = []
for name, cost in settings.items():
    clf = SSOL(r=10.0, cost=cost, max_nonzero=2000, normalize="none", dtype="float32").fit(X[:15_000], y[:15_000])
    measured = tally(y[15_000:], clf.predict(X[15_000:]))
    rows.append({"cost": name, "measure": "sensitivity", "share": measured.sensitivity})
    rows.append({"cost": name, "measure": "specificity", "share": measured.specificity})

# %%
# Sensitivity is the share of positives that are found, specificity the share of negatives without a false alarm.

chart = (
    alt.Chart(
        pd.DataFrame(rows),
        width=90,
        height=220,
        description="Without a cost no positive is found. With the balanced cost most are.",
    )
    .mark_bar()
    .encode(
        x=alt.X("measure").title(None),
        y=alt.Y("share").scale(domain=[0, 1]),
        color=alt.Color("measure").legend(None),
        column=alt.Column("cost").sort(list(settings)),
    )
)
