"""The most that a service takes of anything: bytes, rows, depth, names, connections, time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sizes are bytes, times are seconds.

    Attributes
    ----------
    body : int
        Of a request in JSON, as it was sent and when it is decompressed; of a line of NDJSON.
    rows : int
        In a request in JSON.
    depth : int
        Objects and arrays within each other.
    name : int
        Characters of the name of a feature.
    upload : int
        Of a model file.
    stream : int
        Of NDJSON when it is decompressed, in all.
    head : int
        Of the line and the headers of a request.
    sockets : int
        Connections at a time.
    waiting : int
        Rows that wait to be learned from.
    models : int
        Models, and shadows of each.
    head_time, body_time, idle_time : float
        For a request's head, for the next piece of its body, and until the next request. A body that is no stream of
        lines also has to come at a kilobyte a second after that time.
    """

    body: int = 8 << 20
    rows: int = 1000
    depth: int = 32
    name: int = 1000
    upload: int = 1 << 30
    stream: int = 1 << 36
    head: int = 16 << 10
    sockets: int = 1024
    waiting: int = 20_000
    models: int = 100
    head_time: float = 10.0
    body_time: float = 20.0
    idle_time: float = 60.0
