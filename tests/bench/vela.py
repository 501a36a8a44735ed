"""Record what the compiler Vela does with small networks.

    python tests/bench/vela.py --vela PATH/TO/vela --out tests/targets/ethos-u55.yaml

Needs an environment with `ethos-u-vela` and `msgspec[yaml]`. Each network of
`tests/targets/networks.py` is written as a TFLite file and compiled. An edge is fused where no
operation of the machine writes its tensor and the operator that reads it takes no cycles of its
own; the compiler prints both, and they have to agree.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.tflite import write
from tests.targets.measured import Edge, Measured, Record
from tests.targets.networks import Layer, Network, networks

ACCELERATOR = "ethos-u55-128"
OPERATION = re.compile(r"^\d+ (\w+) , subOps:\[ (.*?) \]")
TENSOR = re.compile(r"^  (IFM\d?|OFM): (\S+), ")


@dataclass
class Operation:
    """One operation of the machine: what it computes, what it reads and writes."""

    kinds: list[str]
    reads: list[str]
    writes: str = ""

    def __str__(self) -> str:
        return f"{'+'.join(self.kinds)}({', '.join(self.reads)}) -> {self.writes}"


def operations(log: str) -> list[Operation]:
    """The list that `--verbose-high-level-command-stream` prints."""
    found: list[Operation] = []
    part = log.partition("High level NPU operations:")[2].partition("High level command stream")[0]
    for line in part.splitlines():
        head, tensor = OPERATION.match(line), TENSOR.match(line)
        if head:
            found.append(Operation([head[1], *re.findall(r"\w+", head[2])], []))
        elif tensor and tensor[1] == "OFM":
            found[-1].writes = tensor[2]
        elif tensor:
            found[-1].reads.append(tensor[2])
    return found


def cycles(table: Path) -> list[tuple[str, int]]:
    """The tensors and cycles of the table that `--verbose-performance` writes, in order."""
    with table.open(newline="") as file:
        rows = [{k.strip(): v.strip() for k, v in row.items()} for row in csv.DictReader(file)]
    return [(row["Name"], int(float(row["Op Cycles"]))) for row in rows]


def fused(value: str, reader: Layer, ran: list[Operation], rows: list[tuple[str, int]]) -> bool:
    """Whether an edge is gone, from two sources that have to agree."""
    names = {value, f"{reader.output}_act"} if reader.float_input else {value}
    gone = not names & {operation.writes for operation in ran}
    last = [count for name, count in rows if name == reader.output][-1:]
    if gone != (last == [0]):
        raise ValueError(f"{value} -> {reader.output}: written {not gone}, cycles {last}")
    return gone


def record(network: Network, vela: str, folder: Path) -> Record:
    """What the compiler made of one network."""
    source = folder / f"{network.name}.tflite"
    source.write_bytes(write(network))
    out = folder / network.name
    run = subprocess.run(
        [vela, str(source), "--accelerator-config", ACCELERATOR, "--output-dir", str(out),
         "--verbose-performance", "--verbose-high-level-command-stream"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    ran = operations(run.stdout)
    rows = cycles(next(out.glob("*_per-layer.csv")))
    edges = [
        Edge(value, writer.kind, reader.kind, fused(value, reader, ran, rows))
        for value, writer, reader in network.edges
    ]
    # A Softmax alone is thirty operations: the first ones tell enough.
    evidence = [str(operation) for operation in ran[:4]]
    return Record(network.name, edges, evidence)


def main() -> int:
    """Writes the table."""
    parser = argparse.ArgumentParser(description="record what Vela does with small networks")
    parser.add_argument("--vela", default="vela")
    parser.add_argument("--match", default="", help="only networks with this in their name")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    version = subprocess.run(
        [options.vela, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for network in networks():
            if options.match in network.name:
                records.append(record(network, options.vela, Path(folder)))
                for edge in records[-1].edges:
                    print(network.name, edge.value, "fused" if edge.fused else "kept", flush=True)
    if options.out:
        table = Measured(f"ethos-u-vela {version}", ACCELERATOR, records)
        options.out.write_text(
            "# Written by tests/bench/vela.py: what the compiler did. Not to be changed by hand.\n"
            + msgspec.yaml.encode(table).decode()
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
