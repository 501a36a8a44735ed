"""Jobs to instructions, by the target's templates."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from fusectl.lower.jobs import Job, Unlowerable, Work
from fusectl.lower.plan import template_of
from fusectl.lower.regions import ConvolutionRegions, ProductRegions, Regions, Tile, bias_view
from fusectl.lower.writer import Writer
from fusectl.program import Convolution, Elements, Encoding, Product, Region, Sizes
from fusectl.tables.lowering import TemplateStep, step
from fusectl.tables.target_schema import Template
from fusectl.tiling import geometry as shapes
from fusectl.tiling.geometry import Geometry
from fusectl.tiling.tiler import Tiling

_SUM = Encoding("float32")
_WHOLE = 1 << 62
MOST_TILES = 100_000
"""Tiles of one call above which a program is refused."""


def write_jobs(writer: Writer, work: Work) -> None:
    """Write out every job in order."""
    for call, job in enumerate(work.jobs):
        template = template_of(writer.lowering, job.kind)
        lines = tuple(step(t.value) for t in template.tile)
        if job.kind in ("product", "convolution"):
            _Sum(writer, job, call, template).write(lines)
        elif job.kind == "host":
            _host(writer, job, lines[0])
        elif job.kind == "move":
            _move(writer, job, lines[0])
        else:
            _vector(writer, job, call, template, lines)
        writer.close()


def _host(writer: Writer, job: Job, line: TemplateStep) -> None:
    name = writer.describe(job, None, None)
    reads = tuple(_all(writer, v) for v in job.reads)
    writes = tuple(_all(writer, v) for v in job.writes)
    moved = sum(prod(r.lengths) * writer.width(r.buffer) for r in (*reads, *writes))
    writer.emit(line, name, reads, writes, moved)


def _all(writer: Writer, value: str) -> Region:
    shape = writer.work.values[value].shape
    return Region(writer.work.buffer(value), shape, (0,) * len(shape), shape)


def _move(writer: Writer, job: Job, line: TemplateStep) -> None:
    count = writer.work.values[job.writes[0]].count
    name = writer.describe(job, Elements(count, count), None)
    flat = ((count,), (0,), (count,))
    moved = 2 * count * writer.width(job.writes[0])
    writer.emit(
        line,
        name,
        (Region(writer.work.buffer(job.reads[0]), *flat),),
        (Region(job.writes[0], *flat),),
        moved,
    )


def _vector(
    writer: Writer, job: Job, call: int, template: Template, lines: tuple[TemplateStep, ...]
) -> None:
    """Elementwise work: as many elements at a time as fit."""
    work, values = writer.work, writer.work.values
    count = values[job.writes[0]].count
    each = sum(writer.width(v) for v in (*job.reads, *job.writes))
    align = writer.lowering.align
    room = ((writer.target.on_chip or _WHOLE) // each) // align * align
    length = max(min(count, room), 1)
    post = writer.post(job, call, template)
    name = writer.describe(job, Elements(count, length), post)
    operands = dict(zip(("a", "b"), job.reads, strict=False)) | {"y": job.writes[0]}
    tiles = {o: writer.tile(name, o, values[v].encoding) for o, v in operands.items()}
    _check_count(job, -(-count // length))
    for start in range(0, count, length):
        stop = min(start + length, count)
        span = ((count,), (start,), (stop,))
        mask = {"elements": stop - start} if stop - start < length else {}
        near = {o: writer.grow(Region(t, *span)) for o, t in tiles.items()}
        reads = tuple(near[o] for o in operands if o != "y")
        for line in lines:
            if line.does == "load":
                far = Region(work.buffer(operands[line.operand]), *span)
                moved = (stop - start) * writer.width(operands[line.operand])
                writer.emit(line, name, (far,), (near[line.operand],), moved, mask)
            elif line.does == "store":
                far = Region(job.writes[0], *span)
                moved = (stop - start) * writer.width(job.writes[0])
                writer.emit(line, name, (near["y"],), (far,), moved, mask)
            else:
                writer.emit(line, name, reads, (near["y"],), 0, mask)


def _check_count(job: Job, tiles: int) -> None:
    """Refuse a program that nobody could read, nor this machine hold."""
    if tiles > MOST_TILES:
        raise Unlowerable(
            f"{job.nodes[0]} takes {tiles} tiles, more than the {MOST_TILES} that a program here "
            "may have; make its shape smaller"
        )


class _Sum:
    """Writes a product or convolution, tile by tile."""

    def __init__(self, writer: Writer, job: Job, call: int, template: Template) -> None:
        self.writer = writer
        self.job = job
        self.operands = dict(zip(("a", "b", "c"), job.reads, strict=False))
        self.operands = {o: v for o, v in self.operands.items() if v} | {"y": job.writes[0]}
        if job.sizes is None or job.tiling is None:
            raise Unlowerable(f"{job.nodes[0]} has no sizes")
        self.tiling: Tiling = job.tiling
        self.regions = _regions(writer, job, job.sizes)
        post = writer.post(job, call, template)
        self.name = writer.describe(job, _sizes(job.sizes, self.tiling), post)
        values = writer.work.values
        kinds = {o: values[v].encoding for o, v in self.operands.items()}
        kinds["acc"] = _SUM
        if self.tiling.k < self.regions.extents[3]:
            kinds["p"] = _SUM
        self.tiles = {o: writer.tile(self.name, o, kind) for o, kind in kinds.items()}
        self.resident: dict[str, Region] = {}

    def write(self, lines: tuple[TemplateStep, ...]) -> None:
        for tile in self._loop():
            for line in lines:
                self._step(line, tile)

    def _loop(self) -> Iterator[Tile]:
        parts, m, n, k = self.regions.extents
        along = ((m, self.tiling.m), (n, self.tiling.n), (k, self.tiling.k))
        _check_count(self.job, parts * prod(-(-whole // t) for whole, t in along))
        ms, ns, ks = ([(i, min(i + t, whole)) for i in range(0, whole, t)] for whole, t in along)
        if isinstance(self.regions, ProductRegions):
            for part in range(parts):
                pairs = [(a, b) for a in ms for b in ns]
                pairs = pairs if self.tiling.rows_outside else [(a, b) for b in ns for a in ms]
                yield from (Tile(part, a, b, c) for a, b in pairs for c in ks)
            return
        rows = [(part, a) for part in range(parts) for a in ms]
        turns = [(r, b) for r in rows for b in ns]
        turns = turns if self.tiling.rows_outside else [(r, b) for b in ns for r in rows]
        yield from (Tile(r[0], r[1], b, c) for r, b in turns for c in ks)

    def _near(self, operand: str, tile: Tile) -> Region:
        """The operand's tile on chip."""
        made = "y" if operand in ("acc", "p") else operand
        region: Region = getattr(self.regions, made)(tile, self.tiles[operand])
        return self.writer.grow(region)

    def _step(self, line: TemplateStep, tile: Tile) -> None:
        first = tile.k[0] == 0
        last = tile.k[1] == self.regions.extents[3]
        mask = self._mask(tile)
        if line.does == "load":
            if line.operand in self.operands and (
                line.operand != "c" or (last if self.job.late else first)
            ):
                self._load(line, tile, mask)
        elif line.does == "start":
            self._start(line, tile, mask, first)
        elif line.does == "multiply":
            reads = tuple(self._near(o, tile) for o in ("a", "b", "acc"))
            self._emit(line, reads, "acc", tile, mask)
        elif line.does == "partial" and not last:
            self._emit(line, (self._near("acc", tile),), "p", tile, mask)
        elif line.does == "finish" and last:
            names = ["acc", "c"] if self.job.late and "c" in self.operands else ["acc"]
            self._emit(line, tuple(self._near(o, tile) for o in names), "y", tile, mask)
        elif line.does == "store" and last:
            far = self.regions.y(tile, self.operands["y"])
            moved = prod(far.lengths) * self.writer.width(self.operands["y"])
            self.writer.emit(line, self.name, (self._near("y", tile),), (far,), moved, mask)

    def _start(self, line: TemplateStep, tile: Tile, mask: dict[str, int], first: bool) -> None:
        source: tuple[Region, ...] = ()
        if not first:
            source = (self._near("p", tile),)
        elif "c" in self.operands and not self.job.late:
            source = (self._near("c", tile),)
        self._emit(line, source, "acc", tile, mask)

    def _emit(
        self,
        line: TemplateStep,
        reads: tuple[Region, ...],
        made: str,
        tile: Tile,
        mask: dict[str, int],
    ) -> None:
        self.writer.emit(line, self.name, reads, (self._near(made, tile),), 0, mask)

    def _load(self, line: TemplateStep, tile: Tile, mask: dict[str, int]) -> None:
        """Load an operand's tile, unless it is there already."""
        near = self._near(line.operand, tile)
        if self.resident.get(line.operand) == near:
            return
        self.resident[line.operand] = near
        value = self.operands[line.operand]
        buffer = self.writer.work.buffer(value)
        far: Region = getattr(self.regions, line.operand)(tile, buffer)
        moved = prod(far.lengths) * self.writer.width(value)
        self.writer.emit(line, self.name, (far,), (near,), moved, mask)

    def _mask(self, tile: Tile) -> dict[str, int]:
        """The lengths of a tile at the tail, which is not full."""
        whole = self.tiling
        pairs = (("m", tile.m, whole.m), ("n", tile.n, whole.n), ("k", tile.k, whole.k))
        return {axis: b - a for axis, (a, b), full in pairs if b - a < full}


def _regions(writer: Writer, job: Job, sizes: Geometry) -> Regions:
    if isinstance(sizes, shapes.Convolution):
        return ConvolutionRegions(sizes)
    values = writer.work.values
    m, n, k = sizes.m or 0, sizes.n, sizes.k
    bias = (1, 1)
    if len(job.reads) > 2 and job.reads[2]:
        bias = bias_view(values[job.reads[2]].shape, len(values[job.reads[1]].shape) == 1)
    return ProductRegions(
        sizes, values[job.reads[0]].count // (m * k), values[job.reads[1]].count // (k * n), bias
    )


def _sizes(sizes: Geometry, tiling: Tiling) -> Sizes:
    tile = (tiling.m, tiling.n, tiling.k)
    if isinstance(sizes, shapes.Product):
        return Product(
            sizes.parts,
            sizes.m or 0,
            sizes.n,
            sizes.k,
            sizes.trans_a,
            sizes.trans_b,
            tile,
            tiling.splits,
        )
    return Convolution(
        sizes.images or 0,
        sizes.groups,
        sizes.channels,
        sizes.filters,
        sizes.size,
        sizes.kernel,
        sizes.strides,
        sizes.dilations,
        sizes.pads,
        sizes.out,
        tile,
        tiling.splits,
    )
