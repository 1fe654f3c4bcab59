"""
Confidence
==========

Compare confidence with accuracy: a reliability diagram.
"""

# %%
# Accuracy against confidence, in ten bins. A calibrated model lies on the diagonal. `confidence` is calibrated on
# predictions made before their labels were known. `belief` comes from the covariance of the weights alone.

import altair as alt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer

from sureline import AROW, FTRL, SCW
from sureline.datasets import make_mail

texts, labels = make_mail(16_000, random_state=0)
X, y = HashingVectorizer(n_features=2**20, alternate_sign=False, norm=None).transform(texts), np.array(labels)
rows = []
scw, arow, ftrl = (clf.fit(X[:8_000], y[:8_000]) for clf in (SCW(C=0.1), AROW(), FTRL()))
told = {
    "SCW, confidence": (scw, scw.confidence(X[8_000:])),
    "AROW, confidence": (arow, arow.confidence(X[8_000:])),
    "FTRL, confidence": (ftrl, ftrl.confidence(X[8_000:])),
    "SCW, belief": (scw, scw.belief(X[8_000:]).max(axis=1)),
}
for name, (clf, says) in told.items():
    right = clf.predict(X[8_000:]) == y[8_000:]
    bins = np.clip(((says - 0.5) * 20).astype(int), 0, 9)
    for b in np.unique(bins):
        here = bins == b
        rows.append(
            {"learner": name, "confidence": says[here].mean(), "accuracy": right[here].mean(), "rows": here.sum()}
        )

# %%
table = pd.DataFrame(rows)
curves = (
    alt.Chart(table, width=340, height=340)
    .mark_line(point=True)
    .encode(
        x=alt.X("confidence").scale(domain=[0.5, 1]),
        y=alt.Y("accuracy").scale(domain=[0.3, 1]),
        color="learner",
        tooltip=["learner", "confidence", "accuracy", "rows"],
    )
)
ends = pd.DataFrame({"confidence": [0.5, 1], "accuracy": [0.5, 1]})
diagonal = alt.Chart(ends).mark_line(strokeDash=[4, 4], color="gray").encode(x="confidence", y="accuracy")
chart = (curves + diagonal).properties(
    description="Accuracy against confidence of SCW, AROW and FTRL, with the diagonal of a calibrated model."
)
