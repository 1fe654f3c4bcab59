"""Generated messages of words, for examples with text."""

from __future__ import annotations

from typing import Any

from ._draws import check_fraction, check_size, generator

_COMMON = """
the to you a and is in for of it on me have that we are your be will at with can this not just but so do if now out
what up when get know see time day good one go call like want need think back got still send more new here
"""
_SPAM = """
free prize winner claim cash urgent offer guaranteed voucher pills cheap casino bonus credit loan discount viagra
ringtone lottery award selected congratulations exclusive unlimited subscribe unsubscribe deal refund bitcoin
investment click visit limited expires reward gift betting singles replica pharmacy
"""
_HAM = """
meeting lunch tomorrow report minutes agenda draft review project budget schedule thanks regards dinner weekend kids
school train airport ticket flat rent doctor birthday party football homework lecture exam library coffee monday
office printer deadline colleague invoice slides appendix garden recipe
"""


def make_mail(
    n_samples: int, *, spam: float = 0.15, noise: float = 0.01, random_state: Any = None
) -> tuple[list[str], list[str]]:
    """Short messages, some of them spam.

    Most words are common and occur in both classes. Each class has a list of its own words, and takes a few from the
    other's. Rare words (a name with a number) carry no information.

    Parameters
    ----------
    n_samples : int
        Number of messages.
    spam : float, default=0.15
        The part of them that is spam.
    noise : float, default=0.01
        The part of the labels that is wrong.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    texts : list of str
    labels : list of str
        "ham" or "spam".

    Examples
    --------
    >>> from sureline.datasets import make_mail
    >>> texts, labels = make_mail(1000, random_state=0)
    >>> sorted(set(labels)), 0.1 < labels.count("spam") / 1000 < 0.2
    (['ham', 'spam'], True)
    """
    check_size("n_samples", n_samples, 1)
    check_fraction("spam", spam)
    check_fraction("noise", noise)
    rng = generator(random_state)
    common, of_spam, of_ham = (words.split() for words in (_COMMON, _SPAM, _HAM))
    is_spam = rng.random(n_samples) < spam
    lengths = 5 + rng.poisson(9, n_samples)
    texts = []
    for kind, length in zip(is_spam.tolist(), lengths.tolist(), strict=True):
        own, other = (of_spam, of_ham) if kind else (of_ham, of_spam)
        lists = (common, own, other)
        words = []
        for draw, place in zip(rng.random(length), rng.random(length), strict=True):
            if draw > 0.97:
                words.append(f"name{int(place * 5_000)}")
                continue
            chosen = lists[0 if draw < 0.62 else 1 if draw < 0.92 else 2]
            words.append(chosen[int(len(chosen) * place * place)])  # the first ones are the most popular
        texts.append(" ".join(words))
    shown = is_spam ^ (rng.random(n_samples) < noise)
    return texts, ["spam" if kind else "ham" for kind in shown.tolist()]
