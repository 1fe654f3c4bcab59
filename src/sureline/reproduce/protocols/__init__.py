"""Protocols of experiments, a module each. `running.KINDS` names them by the `kind` of an entry.

Each has a frozen dataclass ``Parameters``, which defines the keys of the entry's ``[protocol]``, and a function
``run(entry, parameters, folder, progress)`` that returns `Findings`. Claims of a paper are checked next to its
protocol.
"""
