"""Names of models. They are folders of the state, so that little is allowed in them."""

from __future__ import annotations

import re

from .errors import Refused

LONGEST = 64
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,63})")
_DIGEST = re.compile(r"[0-9a-f]{64}")
PATTERN = f"^{_NAME.pattern}$"
RULE = f"letters, digits, dots, hyphens and underscores, at most {LONGEST}, the first a letter or digit"


def is_name(name: object) -> bool:
    """True if a model may be called that."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def is_digest(digest: object) -> bool:
    """True of a SHA-256 in hexadecimal, by which files of models are called."""
    return isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None


def checked_name(name: object) -> str:
    """The name; Refused if it is none."""
    if not isinstance(name, str) or not is_name(name):
        raise Refused(422, f"A model's name has {RULE}.")
    return name
