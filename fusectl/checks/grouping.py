"""Grouped convolutions, groups of a schedule, and products that are cut into tiles."""

from __future__ import annotations

from collections.abc import Iterator

from fusectl.checks.registry import Args, Outcome, Outcomes, check, fail, passed, unknown
from fusectl.graph.types import BYTES
from fusectl.graph.view import Node
from fusectl.match.candidate import Candidate
from fusectl.tables.patterns import Pattern
from fusectl.tables.schedule import ScheduledNode
from fusectl.tables.target_schema import PathDoc
from fusectl.tiling import Tiling, Work, best, fits, read_geometry, work_of
from fusectl.tiling.choose import Choice, choose, stated

_CANNOT = "this fused computation cannot yet be generated in this scheduling structure"


def _help(candidate: Candidate, grouping: str) -> str:
    return (
        f"disable this fusion (--skip {candidate.rule.id}), retain the original graph, or change "
        f"the grouping: {grouping}"
    )


@check("grouping-has-code", "unsupported-grouping", lambda pattern, path: path.grouping is not None)
def grouping_has_code(candidate: Candidate, args: Args) -> Outcomes:
    """The fused form has code for this grouping of the convolution."""
    path = candidate.path
    if path is None or path.grouping is None:
        return None
    return [*_groups(candidate, path), *_strides(candidate, path)] or None


def _groups(candidate: Candidate, path: PathDoc) -> Iterator[Outcome]:
    stated = candidate.overlay.view.attr(candidate.producer.lead, "group")
    groups = stated if isinstance(stated, int) else 1
    kind = _grouping(candidate, groups)
    if path.grouping is None or not path.grouping.groups or kind in path.grouping.groups:
        return
    label = candidate.told_producer.label
    has = " or ".join(_KINDS[k] for k in path.grouping.groups)
    yield fail(
        label,
        f"{label} has {groups} groups ({kind}); the fused form has code for "
        f"{', '.join(path.grouping.groups)} only: {_CANNOT}",
        _help(candidate, f"{has} has code"),
        path.span,
    )


def _strides(candidate: Candidate, path: PathDoc) -> Iterator[Outcome]:
    stated = candidate.overlay.view.attr(candidate.producer.lead, "strides")
    limit = path.grouping.max_stride if path.grouping else 0
    strides = stated if isinstance(stated, tuple) else ()
    if not limit or all(float(s) <= limit for s in strides):
        return
    label = candidate.told_producer.label
    yield fail(
        label,
        f"{label} has strides {', '.join(str(s) for s in strides)}; above {limit} the machine "
        "computes it in several operations, and the fused form has no code for that",
        f"keep the pair, or use strides up to {limit}",
        path.span,
    )


_KINDS = {
    "one": "a convolution with one group",
    "many": "a convolution with several groups",
    "depthwise": "one input channel for each group",
}


def _grouping(candidate: Candidate, groups: int) -> str:
    if groups == 1:
        return "one"
    lead = candidate.producer.lead
    facts = candidate.operators.facts.get(lead.op)
    # Operators on codes have scale and zero point behind each operand.
    place = 3 if facts is not None and facts.quantized_output else 1
    dims = candidate.overlay.type_of(lead.inputs[place]).dims if len(lead.inputs) > place else None
    return "depthwise" if dims and len(dims) > 1 and dims[1] == 1 else "many"


def _scheduled(candidate: Candidate, node: Node) -> ScheduledNode | None:
    schedule = candidate.target.schedule
    return schedule.get(node.label) or schedule.get(next((o for o in node.outputs if o), ""))


def _splits(pattern: Pattern, path: PathDoc) -> bool:
    return path.grouping is not None and bool(path.grouping.splits)


@check("one-group", "unsupported-grouping", _splits)
def one_group(candidate: Candidate, args: Args) -> Outcomes:
    """The schedule has all nodes of the fused form in one group."""
    if not candidate.target.schedule:
        return None
    named = {}
    for role in candidate.roles:
        for node in role.group.members if role is not None and not role.held else ():
            entry = _scheduled(candidate, node)
            if entry is not None and entry.group:
                named[node.label] = entry
    if len({e.group for e in named.values()}) < 2:
        return None
    told = ", ".join(f"{name} in group {entry.group}" for name, entry in named.items())
    first = next(iter(named.values()))
    return [
        fail(
            candidate.producer.node.label,
            f"the schedule has {told} ({first.span.file}:{first.span.line}): a value that stays in "
            f"the matrix unit does not reach another group; {_CANNOT}",
            _help(candidate, "put them into one group"),
            candidate.path.span if candidate.path else None,
        )
    ]


@check("split-has-code", "unsupported-grouping", _splits)
def split_has_code(candidate: Candidate, args: Args) -> Outcomes:
    """The fused form has code for the way in which the product is split."""
    path, target = candidate.path, candidate.target
    if path is None or path.grouping is None or target.grouping is None or target.on_chip is None:
        return None
    node = _scheduled(candidate, candidate.producer.node)
    if node is not None and node.axes is not None:
        return _of_schedule(candidate, path, node)
    shape = _work(candidate, path)
    if shape is None:
        return [_unknown(candidate, path)]
    allowed = path.grouping.splits
    if shape.open:
        # However many rows there are: where one fits beside the whole second operand, cutting
        # the rows costs nothing.
        easy = "m" in allowed and fits(shape, target.on_chip, 1, shape.n, shape.k)
        return None if easy else [_unknown(candidate, path)]
    choice = choose(shape, target.on_chip, allowed, None, _fuses_first(candidate))
    if choice.tiling is None:
        return None  # tile-fits says that
    if choice.legal:
        return _note(candidate, shape, choice)
    return [_no_code(candidate, path, shape, choice, choice.tiling)]


def _of_schedule(candidate: Candidate, path: PathDoc, node: ScheduledNode) -> Outcomes:
    allowed = path.grouping.splits if path.grouping else ()
    bad = [a for a in node.axes or ("none",) if a not in allowed]
    if not bad:
        return None
    label = candidate.producer.node.label
    where = f"{node.span.file}:{node.span.line}"
    how = "leaves it whole" if bad == ["none"] else f"splits {label} over {' and '.join(bad)}"
    return [
        fail(
            label,
            f"the schedule ({where}) {how}: {_why(bad)}; {_CANNOT}",
            _help(candidate, _ways(allowed)),
            path.span,
        )
    ]


def _why(bad: list[str]) -> str:
    if "k" in bad:
        return "the activation would be applied to partial sums"
    return "the fused form has no code for that"


def _ways(allowed: tuple[str, ...]) -> str:
    words = ["leave the product whole" if a == "none" else f"split it over {a}" for a in allowed]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _no_code(
    candidate: Candidate, path: PathDoc, shape: Work, choice: Choice, tiling: Tiling
) -> Outcome:
    """Say what the tiler did, and what the cheapest cut with code would have cost."""
    allowed = path.grouping.splits if path.grouping else ()
    budget = candidate.target.on_chip or 0
    other = best(shape, budget, allowed, only_legal=True)
    label = candidate.producer.node.label
    bad = [s for s in tiling.splits or ("none",) if s not in allowed]
    told = f"group: auto splits {label} over {tiling.told} ({tiling.moved} bytes moved)"
    if other is None:
        costs = "no split that has code fits the memory"
        legal = "a smaller product would have a split with code"
    else:
        axes = other.told if other.splits else "nothing"
        costs = f"split over {axes} it would be {other.moved}"
        legal = f"a split over {axes} is legal (--schedule FILE, or a group pass behind fuse)"
    if choice.reordered:
        costs += "; with fusion before grouping the pair would fuse"
    return fail(
        label,
        f"{told}: {_why(bad)}; {_CANNOT}; {costs}",
        _help(candidate, legal),
        path.span,
    )


def _note(candidate: Candidate, shape: Work, choice: Choice) -> Outcomes:
    """Nothing, or a word about the order of the passes where the other one decides otherwise."""
    tiling, budget = choice.tiling, candidate.target.on_chip or 0
    if choice.reordered is not False or tiling is None:
        return None
    label, free = candidate.producer.node.label, best(shape, budget)
    other = f"{free.told} ({free.moved} bytes moved)" if free else "nothing"
    return [
        passed(
            label,
            f"{label} is split over {tiling.told} ({tiling.moved} bytes moved), because fusion "
            f"comes before grouping; with grouping first the split would be over {other}, and the "
            "pair would be kept",
        )
    ]


def _fuses_first(candidate: Candidate) -> bool:
    target = candidate.target
    fuses, groups = target.fuses_at(candidate.rule.id), target.grouping
    return fuses is not None and groups is not None and fuses < groups


def _unknown(candidate: Candidate, path: PathDoc) -> Outcome:
    overlay = candidate.overlay
    values = [v for v in candidate.producer.inputs[:2] if v]
    told = ", ".join(f"{v} {overlay.type_of(v)}" for v in values)
    return unknown(
        candidate.producer.node.label,
        f"how the product has to be split is not known: {told}",
        f"give {' and '.join(v for v in values if overlay.type_of(v).static is None) or told} "
        "a static shape",
        path.span,
    )


def _work(candidate: Candidate, path: PathDoc) -> Work | None:
    """Return the product as the tiler sees it, or None: its sizes are not known."""
    overlay, producer = candidate.overlay, candidate.producer
    inputs = producer.inputs[:2]
    made = overlay.type_of(candidate.value)
    sizes = read_geometry(
        candidate.operators.acts_as(producer.op),
        tuple(overlay.type_of(v) for v in inputs),
        made,
        lambda name: overlay.view.attr(producer.lead, name),
    )
    if sizes is None:
        return None
    a, b, y = (
        BYTES.get(path.storage.get(t.dtype, t.dtype), 1)
        for t in (*(overlay.type_of(v) for v in inputs), made)
    )
    return work_of(sizes, (a, b, y))


@check("tile-fits", "over-budget", _splits)
def tile_fits(candidate: Candidate, args: Args) -> Outcomes:
    """A tile of the product fits the memory that the target states."""
    path, target = candidate.path, candidate.target
    budget = target.on_chip
    if path is None or target.grouping is None or budget is None:
        return None
    shape = _work(candidate, path)
    if shape is None or shape.open:
        return None  # split-has-code says what is not known
    label = candidate.producer.node.label
    node = _scheduled(candidate, candidate.producer.node)
    if node is not None and node.axes is not None:
        if stated(shape, budget, node) is not None:
            return None
        where = f"{node.span.file}:{node.span.line}"
        seen = f"the schedule ({where}) makes tiles that do not fit {budget} bytes"
        return [fail(label, seen, "split another axis, or choose smaller tiles", path.span)]
    if best(shape, budget) is not None:
        return None
    least = shape.footprint(1, 1, 1)
    return [
        fail(
            label,
            f"the smallest tile takes {least} bytes on chip; the target has {budget}",
            "retain the original graph, or make the product's last axis smaller",
            path.span,
        )
    ]
