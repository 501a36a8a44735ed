"""Programs as lines of text: what people read, and what differences are made of."""

from __future__ import annotations

from collections.abc import Iterator

from fusectl.program import (
    Address,
    Convolution,
    Descriptor,
    Elements,
    Encoding,
    Header,
    Instruction,
    Parameter,
    Post,
    Program,
    Region,
)


def instructions(program: Program) -> Iterator[str]:
    """Yield one line for each instruction, without numbers, so that programs can be compared."""
    calls = {d.id: d for d in program.descriptors}
    for instruction in program.instructions:
        yield instruction_line(instruction, calls.get(instruction.descriptor))


def instruction_line(instruction: Instruction, call: Descriptor | None) -> str:
    """Return an instruction as ``OP result <- operands``."""
    made = ", ".join(_place(r) for r in instruction.writes)
    read = ", ".join(_place(r) for r in instruction.reads) or "0"
    parts = [f"{instruction.op:<4}{made} <- {read}"]
    if instruction.does in ("finish", "apply") and call is not None and call.post is not None:
        parts.append(call.post.function)
    if instruction.does in ("combine", "host") and call is not None:
        parts.append(call.operator)
    if instruction.mask:
        mask = ", ".join(f"{axis} {count}" for axis, count in instruction.mask.items())
        parts.append(f"mask {mask}")
    if instruction.bytes:
        parts.append(f"{instruction.bytes} B")
    return "  ".join(parts)


def _place(region: Region) -> str:
    """Return a tile by its operand (%a), a slot by its place, a value with what is meant of it."""
    name = region.buffer
    if name.startswith("%"):
        base = name[1:].partition("#")[0]
        _, at, slot = base.partition("@")
        if at:
            return slot
        return base if base.startswith(("lut.", "hdr.")) else f"%{base.partition('.')[2]}"
    whole = all(a == 0 for a in region.start) and region.stop == region.view
    if whole or not region.view:
        return name
    spans = zip(region.start, region.stop, region.view, strict=True)
    told = (":" if (a, b) == (0, d) else f"{a}:{b}" for a, b, d in spans)
    return f"{name}[{','.join(told)}]"


def encoding(held: Encoding | None) -> str:
    """Return an encoding in a word or two."""
    if held is None:
        return "?"
    if held.scale is None:
        return held.dtype
    return f"{held.dtype} (scale {held.scale:.7g}, zero point {held.zero_point})"


def descriptor_lines(call: Descriptor) -> Iterator[str]:
    """Yield what a call computes, how it is cut, and its post-processing."""
    reads = ", ".join(v for v in call.reads if v)
    made = ", ".join(call.writes)
    yield f"{call.id:<4}{call.operator} {' + '.join(call.nodes)}: {made} <- {reads}"
    sizes = _sizes(call)
    if sizes:
        rounded = encoding(call.between) if call.between is not None else ""
        added = f", rounded to {rounded}, then the bias is added" if rounded else ""
        yield f"    {sizes}{added}"
    if call.post is not None:
        yield f"    {_post(call.post)}"


def _sizes(call: Descriptor) -> str:
    sizes = call.sizes
    if sizes is None:
        return ""
    if isinstance(sizes, Elements):
        return f"{sizes.count} elements, {sizes.tile} at a time"
    tile = "x".join(map(str, sizes.tile))
    cut = f"split over {' and '.join(sizes.splits)}" if sizes.splits else "not split"
    scale = (
        f", alpha {call.alpha:g}, beta {call.beta:g}" if (call.alpha, call.beta) != (1, 1) else ""
    )
    if isinstance(sizes, Convolution):
        shape = "x".join(map(str, (sizes.filters, sizes.channels // sizes.groups, *sizes.kernel)))
        groups = f", {sizes.groups} groups" if sizes.groups > 1 else ""
        return f"filters {shape}{groups}, {cut}, tile {tile}"
    parts = f"{sizes.parts} x " if sizes.parts > 1 else ""
    return f"{parts}m {sizes.m}, n {sizes.n}, k {sizes.k}, {cut}, tile {tile}{scale}"


def _post(post: Post) -> str:
    state = "on" if post.enable else "off"
    by = f"table {post.table}, header {post.header}" if post.table else "no table"
    way = f"{encoding(post.intermediate)} -> {encoding(post.output)}"
    stated = "".join(f", {name} {number:g}" for name, number in post.arguments.items())
    return f"post {state}: {post.function}, {by}, {way}{stated}"


def address_line(record: Address) -> str:
    """Return where something lies, what it is, and between which instructions it counts."""
    shape = ",".join(map(str, record.shape))
    what = f"{record.encoding.dtype}[{shape}]" if record.encoding is not None else ""
    kind = f"{record.name}  {what}  {record.role}" if what else f"{record.name}  {record.role}"
    return (
        f"{record.space:<9}{record.address:>9} {record.bytes:>9}  {kind}  "
        f"{record.first}..{record.last}"
    )


def parameter_line(record: Parameter) -> str:
    """Return a header, or the ends of a table."""
    if record.header is not None:
        return f"{record.name}  {_header(record.header)}"
    shown = ", ".join(f"{e:.4g}" for e in record.entries[:3])
    tail = f"{record.entries[-1]:.4g}" if record.entries else ""
    return f"{record.name}  {len(record.entries)} entries: {shown}, ..., {tail}"


def _header(header: Header) -> str:
    kind = "codes" if header.of_codes else "numbers"
    lines = ", ".join(
        f"{where} {slope:g} x + {offset:g}"
        for where, (slope, offset) in (("below", header.below), ("above", header.above))
    )
    between = "interpolated" if header.interpolate else "nearest"
    return (
        f"{header.function} of {kind}: from {header.low:g} in steps of 2^{header.step}, "
        f"{header.entries} entries, {between}; {lines}"
    )
