"""Sentences on labels and errors that several commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def labels_in_words(labels: Sequence[Any]) -> str:
    """Two labels with their signs; of many the first 20."""
    texts = [str(label) for label in labels]
    if len(texts) == 2:
        return f"{texts[0]} (negative), {texts[1]} (positive)"
    return ", ".join(texts[:20]) + (f" and {len(texts) - 20} more" if len(texts) > 20 else "")


def measures_in_words(told: dict[str, Any]) -> str:
    """Progressive error or loss in words."""
    if "loss" in told:
        return f"mean loss {told['loss']:.6g}"
    return (
        f"{told['mistakes']:,} mistakes (error {told['error']:.4f}, balanced accuracy {told['balanced_accuracy']:.4f})"
    )
