"""The plan of ``apply`` for people: what is written, most frequent first, and what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fusectl.report.plan import Plan, PlannedNode

_SHOWN = 20
"""Kinds of nodes that are listed before the rest is counted."""


def plan_lines(plan: Plan, full: bool = False, default_target: bool = False) -> Iterator[str]:
    """Yield the lines of a plan; ``full`` lists every node by itself."""
    chosen = f"{plan.target.id} v{plan.target.version}" + (" (default)" if default_target else "")
    yield f"{plan.model.path}: {_nodes(plan.nodes_before)}, target {chosen}"
    if not plan.edits and not plan.removed:
        yield "nothing to fuse"
    native = [e for e in plan.edits if e.native]
    others = [e for e in plan.edits if not e.native]
    yield from _section("operators of the target:", native, full)
    yield from _section("functions of the original nodes, which any runtime runs:", others, full)
    yield from _left(plan)
    if plan.removed:
        yield f"removed as they do nothing: {_nodes(plan.removed)}"
    yield from (f"note: {note.text}" for note in plan.notes)
    if plan.edits or plan.removed:
        yield ""
        yield _sum(plan)


def _sum(plan: Plan) -> str:
    functions = len(plan.edits) - plan.native
    made = f"{plan.native} {_plural('operator', plan.native)}"
    made += f", {functions} {_plural('function', functions)}"
    rounds = f" in {plan.rounds} rounds" if plan.rounds > 1 else ""
    return f"{plan.nodes_before} nodes become {plan.nodes_after}: {made}{rounds}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _nodes(count: int) -> str:
    return f"{count} {_plural('node', count)}"


def _section(title: str, edits: list[PlannedNode], full: bool) -> Iterator[str]:
    if not edits:
        return
    yield ""
    yield title
    if full:
        yield from map(_single, edits)
        return
    kinds = Counter((_kind(e), " + ".join(e.rules), e.why) for e in edits)
    width = max(len(kind) for kind, _, _ in kinds)
    for (kind, rules, why), count in kinds.most_common(_SHOWN):
        yield f"{count:>5}  {kind:<{width}}  {rules}".rstrip()
        if why:
            yield f"       {why}"
    if len(kinds) > _SHOWN:
        rest = sum(c for _, c in kinds.most_common()[_SHOWN:])
        yield f"{rest:>5}  of other kinds; --full lists them all"


def _kind(edit: PlannedNode) -> str:
    if not edit.native:
        return edit.rules[-1]
    return f"{edit.domain}.{edit.op_type}" if edit.domain else edit.op_type


def _single(edit: PlannedNode) -> str:
    name = edit.name or edit.outputs[0]
    why = f" ({edit.why})" if edit.why else ""
    return f"  {_kind(edit)} {name} <- {', '.join(edit.replaces)}{why}"


def _left(plan: Plan) -> Iterator[str]:
    if plan.left:
        yield ""
        yield "decided, and left as it is:"
        yield from (f"  {left.name}: {left.why}" for left in plan.left)
