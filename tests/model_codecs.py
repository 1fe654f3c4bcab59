"""The modules that read and write model files."""

from pathlib import Path

import sureline.models

_MODELS = Path(sureline.models.__file__).parent
CODECS = sorted(_MODELS.glob("file/*.py"))
