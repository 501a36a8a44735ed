"""What may not stand between a producer and its consumer."""

from __future__ import annotations

from collections.abc import Iterator

from fusectl.checks.describe import barrier
from fusectl.checks.registry import Args, Outcome, Outcomes, check, fail, passed, unknown
from fusectl.graph.overlay import Group
from fusectl.match.candidate import Barrier, Candidate

ORDER_KEPT = ("Reshape", "Squeeze", "Unsqueeze", "Flatten")


def _between(candidate: Candidate, reason: str) -> list[Barrier]:
    return [b for b in candidate.between if b.reason == reason]


def _blocked(candidate: Candidate, reason: str, help: str) -> Outcomes:
    found = _between(candidate, reason)
    if not found:
        return None
    subject = ", ".join(b.group.label for b in found)
    named = "; ".join(barrier(candidate, b.group) for b in found)
    observed = f"{named} {'stands' if len(found) == 1 else 'stand'} between"
    return [fail(subject, observed, help)]


@check("no-requantize", "requantize", needs="barriers")
def no_requantize(candidate: Candidate, args: Args) -> Outcomes:
    """No conversion of scale, zero point or integer width stands between the two."""
    consumer = candidate.consumer
    act = f"{consumer.node.label} ({consumer.op})"
    found = _blocked(
        candidate,
        "requantize",
        f"quantise once, after {act}: take these nodes out in front of it, or keep them: "
        "they change what it reads",
    )
    facts = candidate.operators.facts.get(candidate.producer.op)
    reads_codes = candidate.operators.facts.get(consumer.op)
    if facts is None or not facts.quantized_output:
        return found
    if reads_codes is not None and reads_codes.quantized_output:
        return found
    made = fail(
        candidate.producer.node.label,
        f"{candidate.producer.op} requantises its own result to {candidate.value}",
        "quantise the pair as one unit, so that the function's output has the only encoding",
    )
    return [*(found or ()), made]


@check("no-limit", "clip", needs="barriers")
def no_limit(candidate: Candidate, args: Args) -> Outcomes:
    """No range limit stands between the two."""
    consumer = candidate.consumer.node.label
    return _blocked(
        candidate,
        "clip",
        f"remove the limit if {consumer} does not need it, or keep both: the limit changes "
        f"what {consumer} reads",
    )


@check("no-cast", "cast", needs="barriers")
def no_cast(candidate: Candidate, args: Args) -> Outcomes:
    """No change of element type stands between the two."""
    return _blocked(
        candidate,
        "cast",
        f"move the cast behind {candidate.consumer.node.label}, or export both in one type",
    )


@check("no-other-op", "intervening-op", needs="barriers")
def no_other_op(candidate: Candidate, args: Args) -> Outcomes:
    """No other operator stands between the two."""
    found = _between(candidate, "intervening-op")
    ops = {candidate.operators.acts_as(b.group.op) for b in found}
    first = found[0].group.label if found else ""
    help = "only a direct consumer can be fused: keep it"
    if ops == {"BatchNormalization"}:
        help = f"fold {first} into the weights of {candidate.told_producer.label} beforehand"
    elif ops == {"Add"}:
        help = f"give the addend of {first} to {candidate.told_producer.label} as its bias"
    return _blocked(candidate, "intervening-op", help)


@check("no-reorder", "layout", needs="barriers")
def no_reorder(candidate: Candidate, args: Args) -> Outcomes:
    """No reorder stands between the two, and no reshape that the target does not see through."""
    return list(_reorders(candidate)) or None


def _reorders(candidate: Candidate) -> Iterator[Outcome]:
    for step in _between(candidate, "layout"):
        group = step.group
        shown = barrier(candidate, group)
        kept = order_kept(candidate, group)
        if kept is None:
            yield unknown(
                group.label,
                f"{shown}: whether the order of elements is kept is not known",
                "give the model static shapes here",
            )
        elif not kept:
            yield fail(
                group.label,
                f"{shown}: the order of elements changes",
                f"move {group.label} behind {candidate.consumer.node.label}",
            )
        elif _sees_through(candidate, group):
            yield passed(group.label, f"{shown}: linear order kept, seen through")
        elif _in_table(candidate, group):
            yield fail(
                group.label,
                f"{shown}: linear order kept, but the axis that the operand runs along is not "
                "there any more",
                f"move {group.label} behind {candidate.consumer.node.label}",
            )
        else:
            yield fail(
                group.label,
                f"{shown}: linear order kept, this target does not see through {group.op}",
                f"move {group.label} behind {candidate.consumer.node.label}",
            )


def order_kept(candidate: Candidate, group: Group) -> bool | None:
    """Tell whether a layout operator keeps the linear order of elements, three-valued.

    A Transpose keeps it only when it moves nothing but unit dimensions.
    """
    op = candidate.operators.acts_as(group.op)
    if op in ORDER_KEPT:
        return True
    if op != "Transpose":
        return False
    dims = candidate.overlay.type_of(group.inputs[0]).dims
    stated = group.lead.attrs.get("perm") if group.lead is not None else None
    if dims is None:
        return None
    perm = stated if isinstance(stated, tuple) else tuple(reversed(range(len(dims))))
    if len(perm) != len(dims):
        return None
    moved = [int(p) for p in perm if dims[int(p)] != 1]
    if moved == sorted(moved):
        return True
    # Sizes that are not known may be 1; those that are known tell by themselves.
    known = [p for p in moved if isinstance(dims[p], int)]
    return None if known == sorted(known) else False


def _sees_through(candidate: Candidate, group: Group) -> bool:
    rule = candidate.rule
    if not _in_table(candidate, group):
        return False
    operands = [v for i, v in enumerate(candidate.consumer.inputs) if v and i != candidate.slot]
    scalar = all(candidate.overlay.type_of(v).dims in ((), (1,)) for v in operands)
    return scalar if rule.elementwise else scalar or _axis_survives(candidate, group)


def _in_table(candidate: Candidate, group: Group) -> bool:
    """Tell whether the path sees through an operator at all."""
    path = candidate.path
    return path is not None and (group.op in path.through or _leading_units(candidate, group))


def _leading_units(candidate: Candidate, group: Group) -> bool:
    """Tell whether a reshape only adds or drops leading unit dimensions, and the path allows it."""
    if candidate.path is None or "leading-units" not in candidate.path.through:
        return False
    before = candidate.overlay.type_of(group.inputs[0]).dims
    after = candidate.overlay.type_of(group.outputs[0]).dims
    if before is None or after is None or None in before or None in after:
        return False
    return _bare(before) == _bare(after)


def _bare(dims: tuple[object, ...]) -> tuple[object, ...]:
    first = next((i for i, d in enumerate(dims) if d != 1), len(dims))
    return dims[first:]


def _axis_survives(candidate: Candidate, group: Group) -> bool:
    """Tell whether the axis that the rule's operand runs along is the same behind a reshape."""
    before = candidate.overlay.type_of(group.inputs[0]).dims
    after = candidate.overlay.type_of(group.outputs[0]).dims
    if not before or not after:
        return False
    if candidate.rule.axis == "last":
        return before[-1] is not None and before[-1] == after[-1]
    if candidate.rule.axis == "channel":
        return None not in before[:2] and before[:2] == after[:2]
    return False
