"""Who else needs the values that a fusion would remove, and the constants it would consume."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fusectl.checks.registry import Args, Outcomes, check, fail
from fusectl.graph.overlay import Group
from fusectl.graph.walks import from_outputs
from fusectl.match.candidate import Candidate
from fusectl.tables.patterns import Pattern
from fusectl.tables.target_schema import PathDoc


def written_twice(candidate: Candidate) -> bool:
    """Tell whether the fused form may write the intermediate value for its other users as well."""
    path = candidate.path
    if path is None or candidate.between:
        return False
    return candidate.operators.acts_as(candidate.producer.op) in path.dual_output


def written_beside(candidate: Candidate) -> bool:
    """Tell whether the producer is inside a group that writes its result for other readers."""
    value = candidate.value
    return value in candidate.producer.group.beside and written_twice(candidate)


def duplicable(candidate: Candidate, value: str) -> bool:
    """Tell whether what makes a value may be copied, so that other users keep the original."""
    path = candidate.path
    if path is None or not any(candidate.bound.get(n) == value for n in candidate.rule.duplicable):
        return False
    maker = candidate.overlay.producers.get(value)
    return maker is not None and candidate.operators.acts_as(maker.op) in path.duplicable


def other_readers(candidate: Candidate, value: str) -> list[Group]:
    """Return the groups that read a value beyond what the pattern reads of it."""
    users = candidate.overlay.users(value)
    if len(users) == 1 and any(users[0][0] is g for g in candidate.parts):
        return []  # the usual case: nobody but the pattern's own reader
    inside = {id(g) for g in candidate.parts}
    expected: Counter[int] = Counter()
    for node, role in zip(candidate.pattern.nodes, candidate.roles, strict=True):
        if role is not None:
            # An operand of its own may not be a value that the fusion would remove.
            inner = candidate.pattern.inner
            reads = sum(n in inner and candidate.bound.get(n) == value for n in node.inputs)
            expected[id(role.group)] += reads
    for step in candidate.between:
        expected[id(step.group)] += step.value == value
    if candidate.between and value == candidate.between[-1].group.outputs[0]:
        # What the consumer reads is bound to the producer's value.
        expected[id(candidate.consumer.group)] += 1
    elif candidate.between and value == candidate.value:
        expected[id(candidate.consumer.group)] -= 1
    found = []
    for group, _ in users:
        if id(group) in inside and expected[id(group)] > 0:
            expected[id(group)] -= 1
            continue
        if not any(m.group is group for m in candidate.missing):
            # What stands in a gap of the pattern is told as that.
            found.append(group)
    return found


def _values(candidate: Candidate) -> Iterator[str]:
    twice = candidate.producer.group.outputs if written_twice(candidate) else ()
    yield from (v for v in candidate.swallows if v not in twice and not duplicable(candidate, v))


@check("one-reader", "multi-user")
def one_reader(candidate: Candidate, args: Args) -> Outcomes:
    """The intermediate value has one user."""
    found = []
    for value in _values(candidate):
        others = other_readers(candidate, value)
        if others:
            inside = {id(g) for g in candidate.parts}
            twice = [g for g in others if id(g) in inside]
            if twice:
                label = twice[0].label
                found.append(
                    fail(value, f"{label} reads {value} more than once", f"keep {label} apart")
                )
            others = [g for g in others if id(g) not in inside]
        if others:
            names = ", ".join(dict.fromkeys(g.label for g in others))
            wanted = candidate.consumer.node.label
            equal = candidate.overlay.merged.get(value)
            same = f", the same as {', '.join(equal)}," if equal else ""
            found.append(
                fail(
                    value,
                    f"{value}{same} also feeds {names}",
                    f"keep it, or compute {value} a second time for {names}, so that "
                    f"{wanted} has its own",
                )
            )
    return found or None


@check("not-returned", "graph-output")
def not_returned(candidate: Candidate, args: Args) -> Outcomes:
    """The intermediate value is not returned by the graph."""
    found = []
    for value in _values(candidate):
        if value in candidate.overlay.returned:
            found.append(
                fail(
                    value,
                    f"{value} is returned by the graph",
                    f"drop {value} from the outputs if nobody reads it, or keep the pair",
                )
            )
    return found or None


@check("not-captured", "subgraph-capture")
def not_captured(candidate: Candidate, args: Args) -> Outcomes:
    """The intermediate value is not read inside an If, Loop or Scan body."""
    found = []
    for value in _values(candidate):
        nodes = candidate.overlay.captured.get(value)
        if nodes:
            names = ", ".join(dict.fromkeys(f"{n.label} ({n.op})" for n in nodes))
            found.append(
                fail(
                    value,
                    f"{value} is read inside a body of {names}",
                    f"compute {value} a second time for the body, or keep the pair",
                )
            )
    return found or None


def _writes_beside(pattern: Pattern, path: PathDoc) -> bool:
    return bool(path.dual_output)


@check("no-way-around", "intervening-op", concerns=_writes_beside)
def no_way_around(candidate: Candidate, args: Args) -> Outcomes:
    """No other operator reads what the fused form writes and makes what the fused form reads."""
    overlay, first = candidate.overlay, candidate.producer.group
    inside = {id(g) for g in candidate.parts}
    outside = (g for o in first.outputs if o for g, _ in overlay.users(o) if id(g) not in inside)
    if next(outside, None) is None and not any(o in overlay.captured for o in first.outputs):
        return None  # the usual case: nobody but the consumer reads anything of the producer's
    seen: set[int] = set()
    stack: list[tuple[str, Group | None]]
    stack = [(v, None) for v in candidate.consumer.group.inputs if v not in first.outputs]
    while stack:
        value, last = stack.pop()
        maker = overlay.producers.get(value)
        if maker is first and last is not None:
            label = last.label
            observed = f"{label} reads {value} and is needed by {candidate.consumer.node.label}"
            return [fail(label, observed, f"keep it: the fused form would wait for {label}")]
        if maker is None or id(maker) in seen or id(maker) in inside or maker.order < first.first:
            continue
        seen.add(id(maker))
        stack += [(v, maker) for v in overlay.reads(maker)]
    return None


@check("readers-behind", "intervening-op")
def readers_behind(candidate: Candidate, args: Args) -> Outcomes:
    """In a walk from the outputs, other readers stand behind all that the fused form reads."""
    overlay, walked = candidate.overlay, from_outputs(candidate.overlay.view)
    inside = {id(g) for g in candidate.parts}
    first: dict[str, int] = {}
    for value in (o for g in candidate.parts for o in g.outputs if o):
        for reader, _ in overlay.users(value):
            made = [m.outputs[0] for m in reader.members if value in m.inputs and m.outputs]
            places = [walked[m] for m in made if m in walked]
            if id(reader) not in inside and places:
                first[reader.label] = min(places)
    if not first:
        return None
    label = min(first, key=first.__getitem__)
    for value in (v for g in candidate.parts for v in g.inputs if v):
        maker = overlay.producers.get(value)
        if maker is None or id(maker) in inside:
            continue
        place = max((walked.get(o, -1) for m in maker.members for o in m.outputs[:1]), default=-1)
        if place > first[label]:
            observed = f"{label} reads of the fused form and comes before {maker.label}"
            return [fail(label, observed, f"let {label} come behind {maker.label}, or keep it")]
    return None


@check("private-constants", "shared-initializer", takes=("values?",))
def private_constants(candidate: Candidate, args: Args) -> Outcomes:
    """The constants that the fusion would rewrite in place have no other users."""
    names = args.get("values", ())
    inside = {id(g) for g in candidate.parts}
    found = []
    copies = candidate.path.copies if candidate.path else ()
    for name in (names,) if isinstance(names, str) else names:
        value = candidate.bound.get(name, "") if name not in copies else ""
        if not value or not candidate.overlay.is_constant(value):
            continue
        overlay = candidate.overlay
        others = [g.label for g, _ in overlay.users(value) if id(g) not in inside]
        others += [n.label for n in overlay.captured.get(value, ())]
        others += ["the graph's outputs"] if value in overlay.returned else []
        if others:
            shown = ", ".join(dict.fromkeys(others))
            found.append(
                fail(value, f"{value} is also read by {shown}", f"give {shown} a copy of {value}")
            )
    return found or None
