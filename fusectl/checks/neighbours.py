"""What stands around a match: who makes its operands, who else reads them, which one comes first.

None of these is about what the fused form computes. A path requires them where a compiler looks.
"""

from __future__ import annotations

from collections.abc import Iterator

from fusectl.checks.registry import Args, Outcomes, check, fail, names
from fusectl.checks.state import taken
from fusectl.graph.overlay import Group
from fusectl.match.candidate import Candidate, Role
from fusectl.tables.schema import Value


def makers(candidate: Candidate, values: Value, op: str) -> Iterator[tuple[str, Group]]:
    """Yield those of a pattern's values that an operator makes, with the node that does."""
    for name in names(values):
        value = candidate.bound.get(name, "")
        maker = candidate.overlay.producers.get(value)
        if maker is not None and candidate.operators.acts_as(maker.op) == op:
            yield value, maker


def _listed(candidate: Candidate, group: Group, ops: Value) -> bool:
    listed = names(ops)
    return group.op in listed or candidate.operators.acts_as(group.op) in listed


@check("not-made-by", "unsupported-op", takes=("values", "ops", "below?#"))
def not_made_by(candidate: Candidate, args: Args) -> Outcomes:
    """The operands are not made by an operator that this path does not start from.

    ``below``: only a model of a lower opset is held to it.
    """
    if "below" in args and candidate.overlay.view.opset() >= int(str(args["below"])):
        return None
    found = []
    for name in names(args["values"]):
        value = candidate.bound.get(name, "")
        maker = candidate.overlay.producers.get(value)
        if value and maker is None and "input" in names(args["ops"]):
            found.append(fail(value, f"{value} is made by no node", "keep it"))
        if maker is not None and _listed(candidate, maker, args["ops"]):
            found.append(
                fail(
                    value,
                    f"{value} is made by {maker.label} ({maker.op}): no path starts here",
                    f"keep it, or let another operator stand between {maker.label} and this",
                )
            )
    return found or None


@check("made-by", "unsupported-op", takes=("values", "ops"))
def made_by(candidate: Candidate, args: Args) -> Outcomes:
    """The operands are made by an operator that this path starts from.

    ``A>B`` is a B whose first operand an A makes.
    """
    found = []
    ops = names(args["ops"])
    for name in names(args["values"]):
        value = candidate.bound.get(name, "")
        maker = candidate.overlay.producers.get(value)
        if not value or any(made_along(candidate, value, op.split(">")) for op in ops):
            continue
        constant = candidate.overlay.is_constant(value)
        if ("constant" if constant else "input" if maker is None else "") in ops:
            continue
        what = "a constant" if constant else f"made by {maker.label} ({maker.op})" if maker else ""
        known = " or ".join(f"a {op}" if op in ("constant", "input") else op for op in ops)
        observed = f"{value} is {what or 'an input'}; this path starts from {known}"
        found.append(fail(value, observed, f"let {known} make {value}, or keep it"))
    return found or None


def made_along(candidate: Candidate, value: str, chain: list[str]) -> bool:
    """Tell whether a chain of operators makes a value, each from the first operand of the next."""
    for op in reversed(chain):
        maker = candidate.overlay.producers.get(value)
        if maker is None or not _listed(candidate, maker, op):
            return False
        value = maker.inputs[0] if maker.inputs else ""
    return True


@check("second-operand", "unsupported-op", takes=("values",))
def second_operand(candidate: Candidate, args: Args) -> Outcomes:
    """The operand is the second one of its node, where this path looks for it."""
    found = []
    for name in names(args["values"]):
        value = candidate.bound.get(name, "")
        for node, role in zip(candidate.pattern.nodes, candidate.roles, strict=True):
            if role is None or not value or name not in node.inputs:
                continue
            if value in role.inputs[:1]:
                label = role.node.label
                observed = f"{value} is the first operand of {label}; this path looks at the second"
                found.append(fail(value, observed, f"exchange the operands of {label}"))
    return found or None


@check("not-transposed", "attribute")
def not_transposed(candidate: Candidate, args: Args) -> Outcomes:
    """No transposition has been moved through the operators, whose axes would be others then."""
    for role in candidate.roles:
        for value in role.outputs if role is not None else ():
            perm = candidate.overlay.transposed.get(value)
            if role is not None and perm is not None:
                label = role.node.label
                observed = (
                    f"a Transpose to {list(perm)} in front of {label} is moved behind it first, "
                    "and these operators work on other axes then"
                )
                remedy = f"keep the data in one layout around {label}, or export it as one operator"
                return [fail(label, observed, remedy)]
    return None


@check("not-read-by", "unsupported-op", takes=("values", "ops"))
def not_read_by(candidate: Candidate, args: Args) -> Outcomes:
    """The result is not read by an operator that this path leaves it to."""
    found = []
    for name in names(args["values"]):
        value = candidate.bound.get(name, "")
        for reader, _ in candidate.overlay.users(value) if value else ():
            if not any(reader is g for g in candidate.parts) and _listed(
                candidate, reader, args["ops"]
            ):
                observed = f"{value} is read by {reader.label} ({reader.op}), which comes first"
                found.append(fail(value, observed, "keep it: the compiler prefers the other"))
    return found or None


@check("only-read-by", "multi-user", takes=("values", "ops"))
def only_read_by(candidate: Candidate, args: Args) -> Outcomes:
    """All readers of the value are of an operator that this path serves.

    The word ``output`` stands for the caller.
    """
    overlay, found = candidate.overlay, []
    for name in names(args["values"]):
        value = candidate.bound.get(name, "")
        others = [
            g.label for g, _ in overlay.users(value) if not _listed(candidate, g, args["ops"])
        ]
        others += [node.label for node in overlay.captured.get(value, ())]
        if value in overlay.returned and "output" not in names(args["ops"]):
            others.append("the caller")
        if others:
            observed = f"{value} also feeds {', '.join(dict.fromkeys(others))}"
            found.append(fail(value, observed, f"keep it, or compute {value} a second time"))
    return found or None


@check("operands-apart", "unsupported-op", takes=("ops?",))
def operands_apart(candidate: Candidate, args: Args) -> Outcomes:
    """What the consumer reads beside comes from none of the producer's sources."""
    overlay, consumer = candidate.overlay, candidate.consumer
    mine = {_source(candidate, v) for v in candidate.producer.inputs if v}
    for value in consumer.inputs:
        if not value or value == candidate.value or overlay.is_constant(value):
            continue
        maker = overlay.producers.get(value)
        listed = maker is not None and _listed(candidate, maker, args.get("ops", ()))
        if listed or _source(candidate, value) in mine:
            label = consumer.node.label
            observed = f"{label} also reads {value}, which {candidate.producer.node.label} shares"
            if listed and maker is not None:
                observed = f"{label} also reads {value}, made by {maker.label} ({maker.op})"
            return [fail(value, observed, f"keep it, or let {label} read another copy of {value}")]
    return None


def _source(candidate: Candidate, value: str) -> object:
    maker = candidate.overlay.producers.get(value)
    return value if maker is None else id(maker)


@check("written-over", "multi-user", takes=("values",))
def written_over(candidate: Candidate, args: Args) -> Outcomes:
    """The operand may be written over: others read it in front of the producer, not at it."""
    overlay, found = candidate.overlay, []
    producer, inside = candidate.producer.group, {id(g) for g in candidate.parts}
    for name in names(args["values"]):
        value = candidate.bound.get(name, "")
        others = [g for g, _ in overlay.users(value) if id(g) not in inside] if value else []
        before = _ancestors(candidate, producer) if others else set()
        late = [g.label for g in others if id(g) not in before]
        late += [producer.label] if value and value in producer.inputs else []
        late += [node.label for node in overlay.captured.get(value, ())]
        late += ["the caller"] if value in overlay.returned else []
        if late:
            observed = f"{value} is read by {', '.join(dict.fromkeys(late))} as well"
            found.append(fail(value, observed, f"keep it, or give {value} no other reader"))
    return found or None


def _ancestors(candidate: Candidate, group: Group) -> set[int]:
    """Return all groups that a group needs, by identity."""
    overlay, seen = candidate.overlay, set[int]()
    stack = list(overlay.reads(group))
    while stack:
        maker = overlay.producers.get(stack.pop())
        if maker is not None and id(maker) not in seen:
            seen.add(id(maker))
            stack.extend(overlay.reads(maker))
    return seen


@check("first-operand", "claimed")
def first_operand(candidate: Candidate, args: Args) -> Outcomes:
    """Of two operands that could both be taken, the first one is."""
    inputs = candidate.consumer.inputs
    for value in inputs[: inputs.index(candidate.value)] if candidate.value in inputs else ():
        rival = candidate.overlay.producers.get(value)
        if rival is not None and _could_be_taken(candidate, rival, value):
            label = candidate.consumer.node.label
            return [
                fail(
                    rival.label,
                    f"{rival.label} makes the first operand of {label} and is taken instead",
                    f"exchange the operands of {label} to have the other one fused",
                )
            ]
    return None


def _could_be_taken(candidate: Candidate, rival: Group, value: str) -> bool:
    overlay, pattern = candidate.overlay, candidate.pattern
    if rival.op not in pattern.nodes[pattern.producer].ops:
        return False
    if overlay.layouts.get(value) != overlay.layouts.get(candidate.value):
        return False
    if len(overlay.users(value)) != 1 or value in overlay.returned or value in overlay.captured:
        return False
    role = Role(rival, rival.last)
    return not any(taken(candidate, role, slot) for slot in candidate.rule.slots.free)
