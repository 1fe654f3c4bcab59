"""
Embeddings
==========

Train a linear classifier on embeddings batch by batch, with calibrated confidence after each batch.
"""

# %%
# Random vectors stand for embeddings of 384 dimensions: four topics, and noise. Each batch of 2,000 is predicted before
# it is learned from. The line is the accuracy of these answers, the dots are their mean confidence. ``fit`` and
# ``predict`` also accept CUDA tensors.

import altair as alt
import numpy as np
import pandas as pd

from sureline import BCW

rng = np.random.default_rng(0)
topics = rng.standard_normal((4, 384))
y = rng.integers(0, 4, 20_000)
X = 0.14 * topics[y] + rng.standard_normal((20_000, 384))
X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)

clf, days = BCW(), []
for start in range(0, len(X), 2000):
    batch, labels = X[start : start + 2000], y[start : start + 2000]
    if start:
        right = (clf.predict(batch) == labels).mean()
        answers = clf.predict_or_abstain(batch, max_error=0.05)
        sure, answered = clf.confidence(batch).mean(), answers.count() / 2000
        days.append({"rows": start, "right": right, "sure": sure, "answered": answered})
    clf.partial_fit(batch, labels, classes=range(4))

# %%
table = pd.DataFrame(days)
base = alt.Chart(table, width=420, height=280).encode(x=alt.X("rows").title("rows learned from"))
share = alt.Y("right", scale=alt.Scale(zero=False)).axis(format="%").title("answers that are right")
chart = (base.mark_line().encode(y=share) + base.mark_point(filled=True, size=60).encode(y="sure")).properties(
    description="Accuracy and mean confidence after each batch: both rise, and stay close to each other."
)

# %%
# The column ``answered`` is the share of rows that are answered with ``max_error=0.05``.

print(table.round(3).to_string(index=False))
