"""
Text
====

Hash words to a million columns, train SCW, and look at the scores of words with their standard deviations.
"""

# %%
# ``sureline.train`` reads a file of ``label TAB text`` in one pass.

from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer

import sureline
from sureline.datasets import make_mail

texts, labels = make_mail(10_000, random_state=0)
with TemporaryDirectory() as folder:
    file = Path(folder) / "mail.txt"
    file.write_text("".join(f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True)))
    clf = sureline.train(file, "scw", C=0.1)
print(clf.progressive_)

# %%
# Score single words. A positive score speaks for spam; the bar is one standard deviation. "zebra" was never seen, so
# its score is the intercept alone, and the least certain.

words = ["free", "prize", "claim", "urgent", "casino", "meeting", "monday", "lunch", "report", "zebra"]
rows = HashingVectorizer(n_features=2**20, norm=None).transform(words)  # the columns that training used
scores, stds = clf.decision_function(rows), clf.decision_std(rows)
table = pd.DataFrame({"word": words, "score": scores, "low": scores - stds, "high": scores + stds})
base = alt.Chart(table, width=420).encode(y=alt.Y("word").sort(alt.EncodingSortField("score", order="descending")))
chart = (
    base.mark_rule().encode(x=alt.X("low").title("score"), x2="high") + base.mark_circle(size=60).encode(x="score")
).properties(description="Scores of ten words with error bars. Free, prize and claim speak for spam, meeting for ham.")
