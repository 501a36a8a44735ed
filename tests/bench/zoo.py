"""Export small networks with random weights in many spellings: models that no table was made on.

    python tests/bench/zoo.py FOLDER [--exports N] [--quantised N] [--match TEXT] [--list]
        [--timm NAME[:PIXELS] ...]

Writes FOLDER/FAMILY/FAMILY__SPELLING.onnx. Needs torch, onnx and onnxscript; families of timm,
torchvision and transformers need these, and quantised forms need onnxruntime: what is missing is
said, and the rest is made. Which spellings a family gets follows from a hash of its name, so that
nobody chooses, and the same seed is set for every network. Models that are there are kept.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

if TYPE_CHECKING:
    from tests.bench.zoo_net import Make, Net


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a network is written: by which exporter, for which opset, and with which options."""

    name: str
    opset: int
    traced: bool = True
    batch: bool = True
    half: bool = False
    plain: bool = False


TRACED = (
    Spelling("script17", 17),
    Spelling("script13_fixed", 13, batch=False),
    Spelling("script14", 14),
    Spelling("script11", 11),
    Spelling("script18_fixed", 18, batch=False),
    Spelling("script16_plain", 16, plain=True),
    Spelling("script20", 20),
    Spelling("script15_half", 15, half=True, batch=False),
    Spelling("script12_fixed", 12, batch=False),
)
CAPTURED = (
    Spelling("capture18", 18, traced=False),
    Spelling("capture20_fixed", 20, traced=False, batch=False),
    Spelling("capture20", 20, traced=False),
    Spelling("capture18_plain", 18, traced=False, batch=False, plain=True),
    Spelling("capture19_half", 19, traced=False, batch=False, half=True),
)
"""``plain``: constants are not folded, and a traced module keeps its batch normalisations."""


def spellings(family: str, count: int) -> list[tuple[Spelling, ...]]:
    """The spellings of a family: traced and captured in turn, from a place by its hash.

    For each there are two more to try, for an exporter does not take every network for every opset.
    """
    start = zlib.crc32(family.encode()) >> 5
    kinds = (TRACED, CAPTURED) if start % 2 else (CAPTURED, TRACED)
    return [
        tuple(kind[(start + 4 * (i // 2) + more) % len(kind)] for more in range(3))
        for i, kind in enumerate(kinds[n % 2] for n in range(count))
    ]


def forms(family: str, count: int, known: Sequence[str]) -> list[str]:
    """The quantised forms of a family: every second one has some, from a place by its hash."""
    start = zlib.crc32(family.encode()) >> 9
    return [known[(start // 2 + 3 * i) % len(known)] for i in range(count)] if start % 2 else []


def _makers() -> dict[str, Make]:
    """The makers of all networks whose libraries are there; says which are not."""
    import torch  # noqa: F401  the one thing that nothing works without

    from tests.bench.zoo_nets import NETS
    from tests.bench.zoo_pictures import PICTURES
    from tests.bench.zoo_transformers import HUGGING

    found = dict(NETS)
    for library, makers in (("timm", PICTURES), ("transformers", HUGGING)):
        if importlib.util.find_spec(library):
            found |= makers
        else:
            print(
                f"{library} is not installed: {len(makers)} families are left out", file=sys.stderr
            )
    return found


def _full_size(texts: Sequence[str]) -> dict[str, Make]:
    from tests.bench.zoo_pictures import full_size

    return dict(full_size(text) for text in texts)


def export(net: Net, spelling: Spelling, path: Path) -> None:
    """Write one network in one spelling."""
    import torch

    module, inputs = net.module, net.inputs
    if spelling.half:
        module = module.half()
        inputs = tuple(i.half() if i.is_floating_point() else i for i in inputs)
    common = {"input_names": list(net.names), "opset_version": spelling.opset}
    if spelling.traced:
        free = {name: {0: "batch"} for name in net.names} if spelling.batch else None
        mode = torch.onnx.TrainingMode.PRESERVE if spelling.plain else torch.onnx.TrainingMode.EVAL
        torch.onnx.export(
            module, inputs, str(path), dynamo=False, dynamic_axes=free, training=mode,
            do_constant_folding=not spelling.plain, **common,
        )  # fmt: skip
        return
    axes = tuple({0: torch.export.Dim("batch", min=1)} for _ in inputs)
    # One parameter takes all inputs where a module has their names.
    shapes = ((axes,) if hasattr(module, "names") else axes) if spelling.batch else None
    torch.onnx.export(
        module, inputs, str(path), dynamo=True, dynamic_shapes=shapes, external_data=False,
        optimize=not spelling.plain, verbose=False, **common,
    )  # fmt: skip


def write(
    family: str, make: Make, todo: Sequence[Sequence[Spelling]], folder: Path
) -> Iterator[str]:
    """Write a family's exports, each of a network made anew; yield what could not be."""
    for tries in todo:
        for spelling in tries:
            path = folder / family / f"{family}__{spelling.name}.onnx"
            work = partial(_export, make, spelling, path)
            failed = "" if path.exists() else _try(work, path)
            if not failed:
                break
            yield failed


def _export(make: Make, spelling: Spelling, path: Path) -> None:
    export(make(), spelling, path)


def _try(work: Callable[[], object], path: Path) -> str:
    """Do what writes a file. Return why it could not be done, if so; then there is no file."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            work()
    except Exception as error:  # exporters and quantisers may fail in any way
        path.unlink(missing_ok=True)
        return f"{path.stem}: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return ""


def quantise(family: str, make: Make, count: int, folder: Path) -> Iterator[str]:
    """Write a family's quantised forms, of its first export in float32 from opset 13 on."""
    from tests.bench.zoo_quant import FORMS

    sources = [
        path
        for s in (*TRACED, *CAPTURED)
        if s.opset >= 13 and not s.half
        and (path := folder / family / f"{family}__{s.name}.onnx").exists()
    ]  # fmt: skip
    if not sources:
        return
    source = sources[0]
    for form in forms(family, count, tuple(FORMS)):
        path = folder / family / f"{source.stem}_{form}.onnx"
        if not path.exists() and (failed := _try(_quantiser(form, make, source, path), path)):
            yield failed


def _quantiser(form: str, make: Make, source: Path, path: Path) -> Callable[[], None]:
    from tests.bench.zoo_quant import FORMS

    def work() -> None:
        net = make()
        feeds = {n: t.numpy() for n, t in zip(net.names, net.inputs, strict=True)}
        FORMS[form](source, feeds, path)

    return work


def main() -> None:
    """Make what is missing and say what could not be made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--exports", type=int, default=2, help="of each family")
    parser.add_argument("--quantised", type=int, default=1, help="of every second family")
    parser.add_argument("--match", default="")
    parser.add_argument("--timm", nargs="*", help="only these of timm in full size: NAME[:PIXELS]")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    try:
        makers = _full_size(options.timm) if options.timm else _makers()
    except ImportError as error:
        sys.exit(f"{error.name or error} is not installed: pip install torch onnx onnxscript")
    has_runtime = importlib.util.find_spec("onnxruntime") is not None
    if not has_runtime:
        print("onnxruntime is not installed: no quantised forms", file=sys.stderr)
    for family, make in sorted(makers.items()):
        if options.match not in family:
            continue
        todo = spellings(family, options.exports)
        print(family, *(tries[0].name for tries in todo), flush=True)
        if options.list:
            continue
        failed = list(write(family, make, todo, options.folder))
        if has_runtime:
            failed += quantise(family, make, options.quantised, options.folder)
        print(*failed, sep="\n", end="\n" if failed else "", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
