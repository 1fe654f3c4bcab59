"""Model files: read and write what docs/model-file.md specifies."""

from ._atomic import WriteError, remove_stale
from .models.file import ModelContents, ModelFileError, read_model, write_model

__all__ = ["ModelContents", "ModelFileError", "WriteError", "read_model", "remove_stale", "write_model"]
