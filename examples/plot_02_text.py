"""
Words that speak for spam
=========================

Hash words to a million columns, train SCW, and look at the largest weights with their standard deviations.
"""

# %%
# ``sureline.train`` reads a file of ``label TAB text`` in one pass.

from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd

import sureline
from sureline.datasets import make_mail

texts, labels = make_mail(10_000, random_state=0)
with TemporaryDirectory() as folder:
    file = Path(folder) / "mail.txt"
    file.write_text("".join(f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True)))
    clf = sureline.train(file, "scw", C=0.1)
print(clf.progressive_)

# %%
# Words, scored one at a time. A word that was never seen gets little more than the intercept.

words = ["free", "prize", "claim", "urgent", "casino", "meeting", "monday", "lunch", "report", "zebra"]
scores = [clf.predict_proba_one({word: 1.0})["spam"] for word in words]
chart = (
    alt.Chart(pd.DataFrame({"word": words, "probability of spam": scores}), width=420)
    .mark_bar()
    .encode(x=alt.X("probability of spam").scale(domain=[0, 1]), y=alt.Y("word").sort("-x"))
)
