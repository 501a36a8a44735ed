"""Small machines for the tests of this folder: the reference machine, with one thing changed."""

from pathlib import Path

_FUSE = ["  - fuse: [matmul-bias]", "  - fuse: [matmul-activation, conv-activation]"]


def machine(folder: Path, on_chip: str, fuse_first: bool = False) -> Path:
    """Write a target with so much memory; the fusions come before or after the grouping."""
    group = ["  - group: auto"]
    passes = [*_FUSE, *group] if fuse_first else [*group, *_FUSE]
    lines = [
        f"target: npu-{on_chip}",
        "summary: The reference machine with another memory or another order.",
        "extends: lut-npu",
        f"memory: {{on_chip: {on_chip}, table_slots: 2, table_entries: 256, interpolate: true}}",
        "passes:",
        *passes,
    ]
    path = folder / f"npu-{on_chip}-{'fuse' if fuse_first else 'group'}-first.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
