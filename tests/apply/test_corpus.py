"""Real models: some of the corpus, applied and run. All of it: tests/bench/apply_corpus.py."""

from pathlib import Path

import pytest

from tests.bench.apply_corpus import applied
from tests.corpus.models import is_broken, sample

pytest.importorskip("onnxruntime", minversion="1.20")
COUNT = 12


@pytest.mark.slow
def test_real_models_are_applied(corpus: Path) -> None:
    ran = 0
    for path in sample(corpus, COUNT):
        if is_broken(path, corpus):
            continue
        found = applied((str(path), "onnxruntime-cpu"))
        assert found.state in ("ran", "not runnable"), found
        assert found.twice, path
        assert found.promised == found.kept_promise, found
        assert not found.failed, found
        assert found.quantized or found.relative < 1e-4, found
        ran += found.state == "ran"
    assert ran
