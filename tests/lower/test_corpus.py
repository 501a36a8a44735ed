"""Real models with static shapes: valid programs, equal bits, every decision holds."""

import os
from pathlib import Path

import pytest

from fusectl.verify.machine import verify_machine
from tests.lower.build import catalog, decided, machine
from tests.lower.test_programs import checked

CORPUS = os.environ.get("FUSECTL_CORPUS", "")
MODELS = [
    "exported/matmul_bias_broadcasts_separate__legacy17.onnx",
    "exported/hf_whisper_encoder__legacy17.onnx",
    "exported/unet_upsample__dynamo.onnx",
    "exported/ctrl_if__legacy17_scripted.onnx",
]


@pytest.mark.skipif(not CORPUS, reason="FUSECTL_CORPUS names no folder with real models")
@pytest.mark.parametrize("name", MODELS)
def test_real_models(name: str) -> None:
    path = Path(CORPUS) / "corpus" / name
    assert checked(path) is not None
    target = machine()
    results = list(verify_machine(decided(path, target), target, catalog().operators))
    assert [r for r in results if "bitwise" not in r.held] == []
