"""
How sure is it, and is it right?
================================

Compare what learners say of themselves with how often they are right.
"""

# %%
# Confidence against accuracy in ten bins. On the diagonal a model is as often right as it says.

import altair as alt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer

from sureline import AROW, FTRL, SCW
from sureline.datasets import make_mail

texts, labels = make_mail(16_000, random_state=0)
X, y = HashingVectorizer(n_features=2**20, alternate_sign=False, norm=None).transform(texts), np.array(labels)
rows = []
for clf in (SCW(C=0.1), AROW(), FTRL()):
    clf.fit(X[:8_000], y[:8_000])
    proba, right = clf.predict_proba(X[8_000:]).max(axis=1), clf.predict(X[8_000:]) == y[8_000:]
    bins = np.minimum(((proba - 0.5) * 20).astype(int), 9)
    for b in np.unique(bins):
        here = bins == b
        rows.append(
            {"learner": type(clf).__name__, "says": proba[here].mean(), "right": right[here].mean(), "rows": here.sum()}
        )

# %%
table = pd.DataFrame(rows)
curves = (
    alt.Chart(table, width=340, height=340)
    .mark_line(point=True)
    .encode(
        x=alt.X("says").scale(domain=[0.5, 1]),
        y=alt.Y("right").scale(domain=[0.3, 1]),
        color="learner",
        tooltip=["learner", "says", "right", "rows"],
    )
)
diagonal = alt.Chart(pd.DataFrame({"says": [0.5, 1], "right": [0.5, 1]})).mark_line(strokeDash=[4, 4], color="gray")
chart = diagonal.encode(x="says", y="right") + curves
