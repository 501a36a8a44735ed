"""What the audit sees of real networks is what was measured before by other means."""

from pathlib import Path

import pytest

from fusectl.audit import truth
from fusectl.errors import FusectlError
from tests.audit.extraction import Extraction, add, see

pytestmark = pytest.mark.slow
SHARE = 0.99
EVERY = 30
"""Each so many-th model of the file is taken: about twenty."""


def test_extraction_agrees_with_measured_edges(corpus: Path) -> None:
    pytest.importorskip("onnxruntime", minversion="1.32")
    lines = truth.read(corpus / "truth" / "onnxruntime-1.32-extended.jsonl")
    found = Extraction()
    for line in lines[::EVERY]:
        try:
            add(found, line, see("onnxruntime", "extended", corpus / "corpus" / line.model))
        except FusectlError as error:
            found.failed.append(str(error))
    assert found.models >= 16, found.failed
    assert found.both >= 200
    assert found.share >= SHARE, "\n".join(found.differ)
    assert found.theirs <= found.both * 0.1
