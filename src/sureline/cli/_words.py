"""Sentences on labels and errors that several commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._inputs import printable


def labels_in_words(labels: Sequence[Any]) -> str:
    """Two labels with their signs; of many the first 20."""
    texts = [label_in_words(label) for label in labels[:20]]
    if len(labels) == 2:
        return f"{texts[0]} (negative), {texts[1]} (positive)"
    return ", ".join(texts) + (f" and {len(labels) - 20} more" if len(labels) > 20 else "")


def label_in_words(label: Any) -> str:
    """A label, or anything else that data or a model name, as part of a line: printable and not too long."""
    text = str(label)
    return printable(text if len(text) <= 200 else f"{text[:197]}...")


def measures_in_words(told: dict[str, Any]) -> str:
    """Progressive error or loss in words."""
    if "loss" in told:
        return f"mean loss {told['loss']:.6g}"
    balanced = f", balanced accuracy {told['balanced_accuracy']:.4f}" if "balanced_accuracy" in told else ""
    return f"{told['mistakes']:,} mistakes (error {told['error']:.4f}{balanced})"
