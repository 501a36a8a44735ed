"""What a target can do. Nothing that its table does not state is supported."""

from __future__ import annotations

from collections.abc import Iterator

from fusectl.checks.describe import dtype_now, types
from fusectl.checks.form import differs
from fusectl.checks.functions import function_role, function_use
from fusectl.checks.limits import limit_outcomes
from fusectl.checks.parameters import parameter
from fusectl.checks.pattern import (
    attribute_outcomes,
    constant_outcomes,
    operand_outcomes,
    value_outcomes,
)
from fusectl.checks.registry import Args, Outcome, Outcomes, check, fail, runtime, unknown
from fusectl.graph.types import BYTES
from fusectl.match.candidate import Candidate
from fusectl.tables.target_schema import Dtypes
from fusectl.tables.targets import size


def path_outcome(candidate: Candidate) -> Outcome | None:
    """The target has a path for this rule with this producer."""
    path, target = candidate.path, candidate.target.id
    producer = candidate.operators.acts_as(candidate.producer.op)
    if path is None:
        return Outcome(
            "fail",
            candidate.producer.node.label,
            f"{target} has no path for {candidate.rule.id}",
            "legal, but not on this machine: keep it, or ask what another target does",
            candidate.target.span,
        )
    own = candidate.producer.op
    # What computes something else has a path only where the table names it.
    names = (own if differs(candidate, candidate.producer) else producer, own)
    if path.producers and not any(n in path.producers for n in names):
        return Outcome(
            "fail",
            candidate.producer.node.label,
            f"{names[0]} has no path here, {_list(path.producers)} "
            f"{'has' if len(path.producers) == 1 else 'have'}",
            f"express the producer as {' or '.join(path.producers)} if the target should take it",
            path.span,
        )
    consumer = candidate.operators.acts_as(candidate.consumer.op)
    if path.consumers and consumer not in path.consumers:
        return Outcome(
            "fail",
            candidate.consumer.node.label,
            f"{consumer} is not taken on this path, {_list(path.consumers)} "
            f"{'is' if len(path.consumers) == 1 else 'are'}",
            f"express it as {' or '.join(path.consumers)} if that is the same function",
            path.span,
        )
    for value, allowed in path.only.items():
        role = candidate.role_of(value)
        if role is not None and candidate.operators.acts_as(role.op) not in allowed:
            return Outcome(
                "fail",
                role.node.label,
                f"{role.op} has no integer form here, {_list(allowed)} have",
                "leave it in float between its dequantiser and quantiser",
                path.span,
            )
    if path.patterns and candidate.pattern.name not in path.patterns:
        return Outcome(
            "fail",
            candidate.consumer.node.label,
            f"the target knows the spelling {_list(path.patterns)}, this is "
            f"{candidate.pattern.name or 'another'}",
            "export it in a spelling that the target knows",
            path.span,
        )
    return None


def _list(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


@check("path-exists", "unsupported-op")
def path_exists(candidate: Candidate, args: Args) -> Outcomes:
    """The target has a path for this rule with this producer."""
    found = path_outcome(candidate)
    return [found] if found else None


@check(
    "path-constants",
    "not-constant",
    lambda pattern, path: bool(path.const or path.functions or path.where),
)
def path_constants(candidate: Candidate, args: Args) -> Outcomes:
    """Operands that this path needs at compile time are constants."""
    path = candidate.path
    if path is None:
        return None
    names = [c.removesuffix("?") for c in path.const]
    names += [n for n, f in path.where.items() if f.const is not None]
    found = list(constant_outcomes(candidate, names) or ())
    use = function_use(candidate)
    if use is not None and use.const:
        found += _operands(candidate, use.const)
    return [_at_path(o, candidate) for o in found] or None


def _operands(candidate: Candidate, names: tuple[str, ...]) -> Iterator[Outcome]:
    role = function_role(candidate)
    for name in names:
        known = parameter(candidate.overlay, role, name)
        if known.runtime:
            yield runtime(role.node.label, f"its {name}", known.runtime)


def _at_path(outcome: Outcome, candidate: Candidate) -> Outcome:
    where = candidate.path.span if candidate.path else None
    return Outcome(outcome.status, outcome.subject, outcome.observed, outcome.help, where)


@check("path-attributes", "attribute", lambda pattern, path: bool(path.where))
def path_attributes(candidate: Candidate, args: Args) -> Outcomes:
    """Attributes have values that this path takes."""
    if candidate.path is None or not candidate.path.where:
        return None
    found = list(attribute_outcomes(candidate, candidate.path.where))
    if found and candidate.pattern.where:
        # What the rule refuses is told for the rule.
        refused = {o.subject for o in attribute_outcomes(candidate, candidate.pattern.where)}
        found = [o for o in found if o.subject not in refused]
    return found or None


@check("path-values", "constant-value", lambda pattern, path: bool(path.where))
def path_values(candidate: Candidate, args: Args) -> Outcomes:
    """Constants have the values that this path takes."""
    return value_outcomes(candidate, candidate.path.where) if candidate.path else None


@check("path-operands", "unsupported-shape", lambda pattern, path: bool(path.where))
def path_operands(candidate: Candidate, args: Args) -> Outcomes:
    """Operands have the rank and number of elements that this path takes."""
    return operand_outcomes(candidate, candidate.path.where) if candidate.path else None


@check(
    "dtypes-implemented",
    "unsupported-dtype",
    lambda pattern, path: (
        path.dtypes != Dtypes() or bool(path.types or path.same_types or path.functions)
    ),
)
def dtypes_implemented(candidate: Candidate, args: Args) -> Outcomes:
    """Input, intermediate and output have element types that this path implements."""
    path = candidate.path
    if path is None:
        return None
    wanted = path.dtypes
    use = function_use(candidate)
    source = next((v for v in candidate.producer.inputs if v), "")
    places: tuple[tuple[str, str, tuple[str, ...], dict[str, str]], ...] = (
        ("input", source, use.dtypes if use and use.dtypes else wanted.input, {}),
        ("intermediate", candidate.value, wanted.intermediate, path.storage),
        ("output", candidate.consumer.outputs[0], wanted.output, {}),
    )
    found: list[Outcome] = []
    for place, value, allowed, storage in places:
        if not allowed or not value:
            continue
        dtype = candidate.overlay.type_of(value).dtype
        shown = ", ".join(allowed)
        held = storage.get(dtype, dtype)
        if not dtype:
            help = f"add the type of {value} to the model"
            found.append(unknown(value, f"the type of the {place} is not known", help, path.span))
        elif held not in allowed:
            as_held = f" held as {held}" if held != dtype else ""
            found.append(
                fail(
                    value,
                    f"the {place} {value} is {dtype}{as_held}; this path has {shown}",
                    f"export this part in {allowed[0]}, or keep it",
                    path.span,
                )
            )
    return [*found, *_types(candidate)] or None


def _types(candidate: Candidate) -> Iterator[Outcome]:
    """Hold the types of named values against the path: those it has, those that must agree."""
    path = candidate.path
    assert path is not None
    for name, allowed in path.types.items():
        value = candidate.bound.get(name, "")
        dtype = candidate.overlay.type_of(value).dtype if value else ""
        if value and not dtype:
            yield unknown(value, f"the type of {value} is not known", where=path.span)
        elif value and dtype not in allowed:
            shown = ", ".join(allowed)
            yield fail(
                value,
                f"{value} is {dtype_now(candidate.overlay, value)}; this path has {shown}",
                f"quantise {value} to {allowed[0]}, or keep it",
                path.span,
            )
    values = [candidate.bound[n] for n in path.same_types if candidate.bound.get(n)]
    types = {v: candidate.overlay.type_of(v).dtype for v in values}
    if len(set(types.values())) > 1:
        shown = ", ".join(f"{v} is {dtype_now(candidate.overlay, v)}" for v in types)
        yield fail(
            values[-1], f"{shown}; this path needs one type", "quantise both alike", path.span
        )


@check("types-below", "unsupported-dtype", takes=("opset#", "values", "types"))
def types_below(candidate: Candidate, args: Args) -> Outcomes:
    """Below an opset, the values are of types that the pass which takes them there has."""
    overlay, limit = candidate.overlay, int(str(args["opset"]))
    if overlay.view.opset() >= limit:
        return None
    names, allowed = ((v,) if isinstance(v, str) else v for v in (args["values"], args["types"]))
    found = []
    for value in (candidate.bound.get(name, "") for name in names):
        dtype = overlay.type_of(value).dtype if value else ""
        if dtype and dtype not in allowed:
            shown = ", ".join(allowed)
            observed = f"{value} is {dtype}; below opset {limit} this path has {shown}"
            found.append(fail(value, observed, f"export with opset {limit}, or in {allowed[0]}"))
    return found or None


@check("shapes-in-table", "unsupported-shape", lambda pattern, path: bool(path.shapes))
def shapes_in_table(candidate: Candidate, args: Args) -> Outcomes:
    """Ranks, sizes and bias shapes are within what this path takes."""
    return limit_outcomes(candidate)


@check(
    "opset-in-table",
    "unsupported-opset",
    lambda pattern, path: bool(path.opset.min or path.opset.max),
)
def opset_in_table(candidate: Candidate, args: Args) -> Outcomes:
    """The operator versions are within what this path takes."""
    path = candidate.path
    if path is None or not (path.opset.min or path.opset.max):
        return None
    opset = candidate.overlay.view.opset("")
    low, high = path.opset.min, path.opset.max
    if opset >= low and (not high or opset <= high):
        return None
    span = f"{low or 1} to {high}" if high else f"{low} on"
    return [
        fail(
            candidate.consumer.node.label,
            f"the model has opset {opset}; this path takes opset {span}",
            f"export with an opset from {span}",
            path.span,
        )
    ]


@check("result-may-be-returned", "graph-output", lambda pattern, path: not path.returns_result)
def result_may_be_returned(candidate: Candidate, args: Args) -> Outcomes:
    """The fused result is not returned by the graph, where the path cannot write an output."""
    path = candidate.path
    if path is None or path.returns_result:
        return None
    inner = set(candidate.swallows)
    made = (o for r in candidate.roles if r is not None for o in r.outputs)
    returned = [o for o in made if o in candidate.overlay.returned and o not in inner]
    if not returned:
        return None
    return [
        fail(
            returned[0],
            f"the result {returned[0]} is an output of the graph, which this path cannot write",
            "keep it, or let the graph return what is computed behind it",
            path.span,
        )
    ]


@check("row-fits", "over-budget")
def row_fits(candidate: Candidate, args: Args) -> Outcomes:
    """One row of the intermediate value fits the memory that the target states."""
    path, memory = candidate.path, candidate.target.memory
    limit = path.row_bytes if path and path.row_bytes else ""
    if not limit and candidate.target.grouping is not None:
        return None  # a target that splits products has no need of a whole row: see tile-fits
    limit = limit or (memory.on_chip.value if memory.on_chip else "")
    budget = size(limit) if limit else None
    if path is None or budget is None:
        return None
    known = candidate.overlay.type_of(candidate.value)
    if known.dims is None or not known.dims or not isinstance(known.dims[-1], int):
        # Without a size there is no evidence against it, and the tiler decides again.
        return None
    held = path.storage.get(known.dtype, known.dtype)
    row = known.dims[-1] * BYTES.get(held, 1)
    if row <= budget:
        return None
    return [
        fail(
            candidate.value,
            f"one row of {candidate.value} ({types(candidate.overlay, candidate.value)}) takes "
            f"{row} bytes; the target has {budget}",
            "split the last axis of the product, or keep the pair",
            path.span,
        )
    ]
