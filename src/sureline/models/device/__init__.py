"""Online-batch learning on a CUDA device: rows that are there, or cross over, and a precision that stays there.

Nothing here imports CuPy before there is an array on a device, or one is asked for.
"""
