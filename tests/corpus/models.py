"""The models of the corpus: which there are, and which are broken on purpose."""

from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import msgspec

BROKEN = Path(__file__).with_name("broken.yaml")
TARGETS = ("ideal", "lut-npu", "onnxruntime-cpu")
"""Every model is tried on these."""
SAMPLED = ("ethos-u55",)
"""A sample of the models is tried on these; `sweep.py --target` tries all."""


def models(corpus: Path) -> list[Path]:
    """Every `.onnx` below `corpus/`, sorted."""
    return sorted((corpus / "corpus").rglob("*.onnx"))


def sample(corpus: Path, count: int) -> list[Path]:
    """`count` models, evenly spread over all of them."""
    found = models(corpus)
    count = min(count, len(found))
    return [found[i * len(found) // count] for i in range(count)]


@cache
def broken_patterns() -> tuple[str, ...]:
    """`broken.yaml`: patterns of paths below the folder that FUSECTL_CORPUS names."""
    return tuple(msgspec.yaml.decode(BROKEN.read_bytes(), type=dict[str, str]))


def is_broken(path: Path, corpus: Path) -> bool:
    """Whether the model is known to be unreadable."""
    name = path.relative_to(corpus).as_posix()
    return any(fnmatch(name, pattern) for pattern in broken_patterns())
