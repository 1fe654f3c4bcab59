"""The known and the expected pages of an array."""

import os

import numpy as np

from sureline._native import _core

PAGE = os.sysconf("SC_PAGE_SIZE")
SIZE = (1 << 25) + (1 << 12)  # numbers of 8 bytes: just beyond the size up to which pages are large


def ranges(array: np.ndarray) -> list[tuple[int, int]]:
    """Ascending and apart, and inside the array; those that touch each other as one."""
    pairs = _core.touched_ranges(array).reshape(-1, 2).tolist()
    joined: list[tuple[int, int]] = []
    end = 0
    for begin, stop in pairs:
        assert end <= begin < stop <= array.nbytes
        if joined and joined[-1][1] == begin:
            begin = joined.pop()[0]
        joined.append((begin, stop))
        end = stop
    return joined


def pages(array: np.ndarray, numbers: np.ndarray) -> list[tuple[int, int]]:
    """The expected `ranges` if these numbers of the array were written."""
    address = array.__array_interface__["data"][0]
    first = address % PAGE
    touched = np.unique((first + np.asarray(numbers, np.int64) * 8) // PAGE)
    starts = np.flatnonzero(np.diff(touched, prepend=-2) > 1)
    ends = np.append(starts[1:], len(touched)) - 1
    return [
        (max(int(touched[a]) * PAGE - first, 0), min((int(touched[b]) + 1) * PAGE - first, array.nbytes))
        for a, b in zip(starts, ends, strict=True)
    ]
