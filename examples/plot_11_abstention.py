"""
Abstention
==========

Answer only where the model is sure: set a maximal error, and see how many rows are answered.
"""

# %%
# Each learner sees 10,000 rows once. Of 20,000 others it answers those where it is sure enough. The lines show the
# error of the most confident rows. The dots show what is answered with ``max_error`` at 1, 2 and 5 %, the dotted
# lines. Dots are lower, since an upper bound of the error has to stay within ``max_error``.

import altair as alt
import numpy as np
import pandas as pd

from sureline import AROW, FTRL, PA
from sureline.datasets import make_sparse_gaussian

X, y = make_sparse_gaussian(30_000, random_state=0)
lines, promises = [], []
for clf in (AROW(), FTRL(), PA()):
    name = type(clf).__name__
    clf.fit(X[:10_000], y[:10_000])
    wrong = clf.predict(X[10_000:]) != y[10_000:]
    surest = np.argsort(-clf.confidence(X[10_000:]))
    answered = np.arange(1, len(wrong) + 1)
    error = np.cumsum(wrong[surest]) / answered
    at = np.linspace(500, len(wrong) - 1, 60).astype(int)
    lines.append(pd.DataFrame({"learner": name, "coverage": answered[at] / len(wrong), "error": error[at]}))
    for max_error in (0.01, 0.02, 0.05):
        answers = clf.predict_or_abstain(X[10_000:], max_error=max_error)
        promises.append(
            {
                "learner": name,
                "promised": max_error,
                "coverage": answers.count() / len(wrong),
                "error": wrong[~answers.mask].mean(),
            }
        )

# %%
curve = (
    alt.Chart(pd.concat(lines), width=420, height=320)
    .mark_line()
    .encode(
        x=alt.X("coverage").axis(format="%").title("rows that are answered"),
        y=alt.Y("error").axis(format="%").title("answers that are wrong"),
        color="learner",
    )
)
kept = pd.DataFrame(promises)
dots = alt.Chart(kept).mark_point(filled=True, size=70).encode(x="coverage", y="error", color="learner")
rules = alt.Chart(kept[["promised"]].drop_duplicates()).mark_rule(strokeDash=[2, 3]).encode(y="promised")
chart = (rules + curve + dots).properties(
    description="Error against coverage of three learners: the error rises as more rows are answered. Each dot "
    "is below its dotted line."
)

# %%
print(kept.round(4).to_string(index=False))
