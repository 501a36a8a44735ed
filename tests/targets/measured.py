"""The recorded answers of a compiler about small networks."""

from pathlib import Path

import msgspec

HERE = Path(__file__).parent


class Edge(msgspec.Struct, frozen=True):
    """One tensor between two operators: whether it is gone on the machine."""

    value: str
    writer: str
    reader: str
    fused: bool


class Record(msgspec.Struct, frozen=True):
    """One network: its edges, and the operations that the compiler listed."""

    network: str
    edges: list[Edge]
    evidence: list[str]


class Measured(msgspec.Struct, frozen=True):
    """All networks, with the compiler that answered."""

    compiler: str
    machine: str
    records: list[Record]


def load(target: str) -> Measured:
    """The table of a target."""
    return msgspec.yaml.decode((HERE / f"{target}.yaml").read_bytes(), type=Measured)
