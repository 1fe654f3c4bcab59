"""How several commands say what a model was trained with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def labels_in_words(labels: Sequence[Any]) -> str:
    """Of two which is which; of many the first."""
    texts = [str(label) for label in labels]
    if len(texts) == 2:
        return f"{texts[0]} (negative), {texts[1]} (positive)"
    return ", ".join(texts[:20]) + (f" and {len(texts) - 20} more" if len(texts) > 20 else "")


def measures_in_words(told: dict[str, Any]) -> str:
    """How the labels were predicted before they were learned from."""
    if "loss" in told:
        return f"mean loss {told['loss']:.6g}"
    return (
        f"{told['mistakes']:,} mistakes (error {told['error']:.4f}, balanced accuracy {told['balanced_accuracy']:.4f})"
    )
