"""Protocols of experiments, a module each. `running.KINDS` names them by the `kind` of an entry.

Each has a frozen dataclass ``Parameters``, which says what the entry's ``[protocol]`` consists of, and a function
``run(entry, parameters, folder, progress)`` that returns `Findings`. What a paper claims about its table or figure is
checked where its protocol is.
"""
