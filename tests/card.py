"""GPU code is tested on a card where there is one, else through Triton's interpreter.

Importing this skips the module if torch or Triton is missing. It comes before `mercer`, whose modules import Triton.
"""

import os

import pytest

torch = pytest.importorskip("torch")
CARD = torch.cuda.is_available()
if not CARD:
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton")
DEVICE = "cuda" if CARD else "cpu"
MARKS = [pytest.mark.torch, *([pytest.mark.cuda] if CARD else [])]
