"""Models that the tests of the command line share."""

from pathlib import Path

CASES = Path(__file__).parents[1] / "cases" / "data"
BAD = Path(__file__).parents[1] / "bad" / "data"
DIRECT = CASES / "001-direct.onnxtxt"
SHARED = CASES / "013-multi-user.onnxtxt"
CHAIN = CASES / "120-conv-add-relu.onnxtxt"
