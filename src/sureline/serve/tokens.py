"""Who may do what: tokens, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path

from .errors import Refused, StateError

SHORTEST = 8


class Right(IntEnum):
    """Each has those before it."""

    NOTHING = 0
    READ = 1
    LEARN = 2
    ADMIN = 3


RIGHTS = {"read": Right.READ, "learn": Right.LEARN, "admin": Right.ADMIN}


class Tokens:
    """The tokens of a service. Without any, everybody may do everything."""

    def __init__(self, tokens: Iterable[tuple[Right, str]] = ()) -> None:
        self._digests = [(right, _digest(secret.encode())) for right, secret in tokens]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def right_of(self, secret: bytes) -> Right:
        """The right of a token. All of them are looked at, each in constant time."""
        digest, found = _digest(secret), Right.NOTHING
        for right, known in self._digests:
            if hmac.compare_digest(known, digest):
                found = max(found, right)
        return found

    def check(self, header: bytes | None, needed: Right) -> None:
        """Refused unless the header Authorization has that right."""
        if not self._digests:
            return
        scheme, _, secret = (header or b"").partition(b" ")
        if scheme.lower() != b"bearer" or not secret.strip():
            raise Refused(401, "This needs a token: Authorization: Bearer TOKEN.", {"WWW-Authenticate": "Bearer"})
        right = self.right_of(secret.strip())
        if right is Right.NOTHING:
            raise Refused(401, "The token is not known.", {"WWW-Authenticate": 'Bearer error="invalid_token"'})
        if right < needed:
            raise Refused(403, f"This needs a token with the right {needed.name.lower()!r}.")


def parsed_token(text: str, where: str) -> tuple[Right, str]:
    """``read:SECRET``, ``learn:SECRET`` or ``admin:SECRET``; a secret alone has every right. StateError otherwise."""
    word, colon, secret = text.partition(":")
    right = RIGHTS.get(word) if colon else None
    secret = secret if right is not None else text
    if len(secret) < SHORTEST or not all("!" <= character <= "~" for character in secret):
        raise StateError(
            f"{where}: a token is read:SECRET, learn:SECRET or admin:SECRET, where SECRET has at least {SHORTEST} "
            "printable characters of ASCII and no space."
        )
    return right or Right.ADMIN, secret


def tokens_of_file(path: Path) -> list[tuple[Right, str]]:
    """A token a line; empty lines and those that begin with # are left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise StateError(f"{path} is no UTF-8.") from None
    found = [
        parsed_token(line.strip(), f"{path}, line {number}")
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not found:
        raise StateError(f"{path} has no token; a line of it is read:SECRET, learn:SECRET or admin:SECRET.")
    return found


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()
