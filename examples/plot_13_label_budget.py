"""
Label budgets
=============

Learn from the most useful labels only, and compare with as many random ones.
"""

# %%
# Labels cost money. With ``ask=0.1`` the learner asks for the labels of at most a tenth of 15,000 rows, those where it
# is least sure. It is compared with a random tenth, on 5,000 later rows.

import altair as alt
import numpy as np
import pandas as pd

from sureline import AROW
from sureline.datasets import make_sparse_gaussian
from sureline.evaluate import prequential

X, y = make_sparse_gaussian(20_000, random_state=0)
new, truth = X[15_000:], y[15_000:]
SHARES = [0.02, 0.05, 0.1, 0.2, 0.5]
rows = []
for seed in range(5):
    rng = np.random.default_rng(seed)
    order = rng.permutation(15_000)
    for share in SHARES:
        asked = prequential(AROW(random_state=seed), (X[order], y[order]), ask=share).estimators["AROW"]
        some = order[rng.random(15_000) < share]
        learned = {"asked for": asked, "at random": AROW().fit(X[some], y[some])}
        rows += [
            {"labels": way, "share": share, "error": np.mean(clf.predict(new) != truth)} for way, clf in learned.items()
        ]
every = np.mean(AROW().fit(X[:15_000], y[:15_000]).predict(new) != truth)

# %%
# Each point is the mean of five orders of the rows, with its range. The dashed line is the error with all labels.

errors = pd.DataFrame(rows)
base = alt.Chart(errors, width=420, height=300).encode(
    x=alt.X("share").scale(type="log").axis(format="%", values=SHARES).title("labels that are read"), color="labels"
)
lines = base.mark_line(point=True).encode(y=alt.Y("mean(error)").axis(format="%").title("error on later rows"))
bars = base.mark_rule().encode(y=alt.Y("min(error)").title(""), y2="max(error)")
rule = alt.Chart(pd.DataFrame({"error": [every]})).mark_rule(strokeDash=[4, 4]).encode(y="error")
chart = (rule + bars + lines).properties(
    description="Error against the share of labels: labels that are asked for give a lower error than random "
    "ones, and half of them nearly the error of all labels."
)

# %%
print(errors.pivot_table(index="share", columns="labels", values="error").round(4).to_string())
