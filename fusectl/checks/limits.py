"""A path's shape limits: alternatives, of which one must hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from fusectl.checks.registry import Outcome, Outcomes, fail, unknown
from fusectl.graph.types import Dim, same_dims
from fusectl.match.candidate import Candidate
from fusectl.tables.target_schema import ShapeLimit

PLAIN = "plain"
"""The layout of values that no pass has given another one."""


def limit_outcomes(candidate: Candidate) -> Outcomes:
    """Return nothing where one alternative holds, else what is against the closest one."""
    path = candidate.path
    if path is None or not path.shapes:
        return None
    meant = [limit for limit in path.shapes if not any(_meant(candidate, limit))]
    alternatives = []
    for limit in meant or path.shapes:
        found = list(_against(candidate, limit))
        if not found:
            return None
        alternatives.append(found)
    nearest = min(map(_badness, alternatives))
    best = [found for found in alternatives if _badness(found) == nearest]
    if len(best) == 1 or any(len(found) != 1 for found in best):
        return best[0]
    return [_either([found[0] for found in best])]


def _either(outcomes: list[Outcome]) -> Outcome:
    """Join what is against each of several alternatives, of which any would do."""
    first = outcomes[0]
    helps = dict.fromkeys(o.help for o in outcomes if o.help)
    return Outcome(
        first.status,
        first.subject,
        ", and ".join(dict.fromkeys(o.observed for o in outcomes)),
        "; or ".join(helps),
        first.where,
    )


def _badness(found: list[Outcome]) -> tuple[int, int]:
    return sum(o.status == "fail" for o in found), len(found)


def holds(candidate: Candidate, rank: dict[str, tuple[int, ...]], static: tuple[str, ...]) -> bool:
    """Tell whether ranks and static shapes are as a condition says; unknown does not hold."""
    for name, ranks in rank.items():
        dims = _dims(candidate, name)
        if dims is None or len(dims) not in ranks:
            return False
    return all(_static(_dims(candidate, name)) for name in static)


def _dims(candidate: Candidate, name: str) -> tuple[Dim, ...] | None:
    value = candidate.bound.get(name, "")
    return candidate.overlay.known_type_of(value).dims if value else None


def _shown(candidate: Candidate, value: str) -> str:
    known = candidate.overlay.known_type_of(value)
    less = known != candidate.overlay.type_of(value)
    return f"{value} {known}{', as far as this target follows computed sizes' if less else ''}"


def _static(dims: tuple[Dim, ...] | None) -> bool:
    return dims is not None and all(isinstance(d, int) for d in dims)


def _against(candidate: Candidate, limit: ShapeLimit) -> Iterator[Outcome]:
    yield from _meant(candidate, limit)
    for name, ranks in limit.rank.items():
        yield from _rank(candidate, name, ranks, limit)
    for name in limit.static:
        value = candidate.bound.get(name, "")
        if value and not _static(_dims(candidate, name)):
            yield fail(
                value,
                f"{_shown(candidate, value)} is not fully static",
                f"export with static shapes for {value}",
                limit.span,
            )
    for name, wanted in limit.elements.items():
        yield from _elements(candidate, name, limit, range(wanted, wanted + 1), str(wanted))
    for name, least in limit.more_than.items():
        taken = range(least + 1, sys.maxsize)
        yield from _elements(candidate, name, limit, taken, f"more than {least}")
    for name, forms in limit.forms.items():
        yield from _form(candidate, name, forms, limit)
    if len(limit.same) == 2:
        yield from _same(candidate, limit)


def _meant(candidate: Candidate, limit: ShapeLimit) -> Iterator[Outcome]:
    """Hold the nodes against what an alternative is meant for: makers, layouts, operands."""
    overlay = candidate.overlay
    for name, ops in limit.ops.items():
        value = candidate.bound.get(name, "")
        maker = overlay.producers.get(value)
        op = maker.op if maker is not None else "a graph input or constant"
        if value and op not in ops and candidate.operators.acts_as(op) not in ops:
            text = f"{value} is made by {op}; this is for {', '.join(ops)}"
            yield fail(value, text, where=limit.span)
    for name, wanted in limit.layout.items():
        value = candidate.bound.get(name, "")
        found = overlay.layouts.get(value, PLAIN)
        if value and found != wanted:
            yield fail(value, f"{value} is in the layout {found}, needed is {wanted}")
    for name in limit.present:
        if not candidate.bound.get(name):
            label = candidate.producer.node.label
            yield fail(label, f"{label} has no operand {name}", where=limit.span)


def _rank(
    candidate: Candidate, name: str, ranks: tuple[int, ...], limit: ShapeLimit
) -> Iterator[Outcome]:
    value = candidate.bound.get(name, "")
    if not value:
        return
    dims = _dims(candidate, name)
    shown = " or ".join(map(str, ranks))
    if dims is None:
        yield unknown(
            value, f"the rank of {value} is not known, needed is {shown}", "add its shape"
        )
    elif len(dims) not in ranks:
        yield fail(
            value,
            f"{value} has rank {len(dims)}; this path takes rank {shown}",
            f"reshape {value} to rank {shown}",
            limit.span,
        )


def _elements(
    candidate: Candidate, name: str, limit: ShapeLimit, taken: range, wanted: str
) -> Iterator[Outcome]:
    value, dims = candidate.bound.get(name, ""), _dims(candidate, name)
    if not value:
        return
    if not _static(dims):
        yield unknown(value, f"the size of {value} is not known", "add its shape", limit.span)
        return
    count = 1
    for dim in dims or ():
        count *= dim if isinstance(dim, int) else 1
    if count not in taken:
        yield fail(
            value, f"{value} has {count} elements; this path takes {wanted}", where=limit.span
        )


def _form(
    candidate: Candidate, name: str, forms: tuple[str, ...], limit: ShapeLimit
) -> Iterator[Outcome]:
    """Hold a bias against forms such as n, 1xn, mx1, mxn of the product's rows and columns."""
    value, dims = candidate.bound.get(name, ""), _dims(candidate, name)
    product = candidate.overlay.known_type_of(candidate.value).dims
    if not value:
        return
    shown = ", ".join(f"[{f.replace('x', ',')}]" for f in forms)
    if dims is None or not product:
        yield unknown(value, f"the shape of {value} is not known, taken are {shown}", "add shapes")
        return
    sizes = {"n": product[-1], "m": product[-2] if len(product) > 1 else None, "c": None}
    sizes["c"] = product[1] if len(product) > 2 else None
    verdicts = [_is_form(dims, form.split("x"), sizes) for form in forms]
    if True in verdicts:
        return
    text = f"{value} is {candidate.overlay.known_type_of(value)}; this path takes {shown}"
    if None in verdicts:
        yield unknown(value, text, f"give {value} a static shape", limit.span)
    else:
        yield fail(value, text, f"bring {value} to one of {shown}", limit.span)


def _is_form(dims: tuple[Dim, ...], form: list[str], sizes: dict[str, Dim]) -> bool | None:
    if form == ["scalar"]:
        return len(dims) == 0
    wanted = tuple(sizes[f] if f in sizes else int(f) for f in form)
    return same_dims(dims, wanted)


def _same(candidate: Candidate, limit: ShapeLimit) -> Iterator[Outcome]:
    a, b = limit.same
    verdict = same_dims(_dims(candidate, a), _dims(candidate, b))
    if verdict:
        return
    first, second = candidate.bound.get(a, ""), candidate.bound.get(b, "")
    text = f"{_shown(candidate, first)} and {_shown(candidate, second)} must have equal shapes"
    if verdict is None:
        yield unknown(second, text, "give both static shapes", limit.span)
    else:
        yield fail(second, text, "expand the smaller one beforehand", limit.span)
