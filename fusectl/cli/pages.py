"""Pages of Markdown about rules, targets and checks: for a terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fusectl.checks import ALWAYS, CHECKS, GROUPS, TARGET, Check
from fusectl.cli.facts import fact, facts, stated, words
from fusectl.tables import Rule, Target
from fusectl.tables.schema import Example, PatternText, Range, RuleDoc, Where
from fusectl.tables.target_schema import PassDoc, PathDoc
from fusectl.tables.targets import DEFAULT

_COLUMNS = ("producers", "functions", "dtypes", "source")
"""Keys of a path that have a column of their own; ``limits`` has the others."""


def rule_page(rule: Rule, doc: RuleDoc, level: int = 1, place: str = "") -> str:
    """Return the page of a rule: patterns as written, requirements in words, examples.

    ``place`` says where it is written, instead of file and line.
    """
    parts = [
        f"{'#' * level} {rule.id}",
        rule.summary,
        _about(rule, place or f"{rule.span.file}:{rule.span.line}"),
    ]
    parts += _patterns(rule, doc, level + 1)
    parts += [f"{'#' * (level + 1)} Requirements", _bullets(_required(rule))]
    parts += _examples(rule.examples, level + 1)
    return "\n\n".join(parts) + "\n"


def _about(rule: Rule, place: str) -> str:
    told = [f"Edge `{rule.edge}`", f"numerics {rule.numerics}"]
    if rule.slots.free:
        told.append(f"needs the slot {_code(rule.slots.free)} of the producer free")
    if rule.slots.takes:
        told.append(f"takes the slot `{rule.slots.takes}`")
    if rule.opt_in:
        told.append("only for targets that name it")
    return f"{'; '.join(told)}. Written in `{place}`."


def _patterns(rule: Rule, doc: RuleDoc, level: int) -> Iterator[str]:
    yield f"{'#' * level} {'Patterns' if len(doc.patterns) > 1 else 'Pattern'}"
    for entry in doc.patterns:
        named = entry if isinstance(entry, PatternText) else PatternText(entry)
        told = [f"`{named.name}`"] if named.name else []
        told += [f"opset {facts(named.opset)}"] if named.opset != Range() else []
        if told:
            yield f"{', '.join(told)}:"
        yield _fenced(named.nodes.value)
        if named.where:
            yield _bullets(_facts(named.where))
    if doc.where:
        yield "Where:"
        yield _bullets(_facts(doc.where))
    classes = list(_classes(rule))
    if classes:
        yield "Classes:"
        yield _bullets(classes)


def _facts(where: dict[str, Where]) -> Iterator[str]:
    for value, held in where.items():
        told = facts(held)
        yield f"`{value}`: {told}" if told else f"`{value}`"


def _classes(rule: Rule) -> Iterator[str]:
    """Yield the names in a pattern that stand for several operators."""
    seen = set()
    for node in (n for p in rule.patterns for n in p.nodes):
        if node.role not in node.ops and node.role not in seen:
            seen.add(node.role)
            yield f"`{node.role}`: {', '.join(sorted(node.ops))}"


def _required(rule: Rule) -> Iterator[str]:
    for wanted in rule.require:
        for name in GROUPS.get(wanted.check, (wanted.check,)):
            told = ", ".join(f"{key} {words(value)}" for key, value in wanted.args.items())
            yield _requirement(CHECKS[name]) + (f" ({told})" if told else "")
    yield f"and what every rule asks for: {_code(ALWAYS)}"


def _requirement(check: Check) -> str:
    return f"`{check.name}`, else `{check.reason}`: {check.requirement}"


def _examples(examples: Iterable[Example], level: int) -> Iterator[str]:
    yield f"{'#' * level} Examples"
    for example in examples:
        text = example.accept or example.model
        what = f"Kept, `{example.reject.value}`" if example.reject else "Fused"
        yield f"{what}{': ' + example.why if example.why else ':'}"
        if text is not None:
            yield _fenced(text.value)


def target_page(target: Target, level: int = 1) -> str:
    """Return the page of a target: passes in order, and what each path can do."""
    about = [f"Version {target.version}"]
    if target.extends:
        about.append(f"extends {_code(target.extends)}")
    about.append(f"equivalence {facts(target.equivalence) or 'abs 0, rel 0'}")
    if target.audit:
        about.append(
            f"describes {' '.join(filter(None, (target.audit.runtime, target.audit.level)))}"
        )
    memory = facts(target.memory)
    if memory:
        about.append(f"memory: {memory}")
    return "\n\n".join(
        [
            f"{'#' * level} {target.id}",
            target.summary,
            f"{'; '.join(about)}. Written in `{target.span.file}`.",
            f"{'#' * (level + 1)} Passes",
            "\n".join(f"{n}. {_pass(p)}" for n, p in enumerate(target.passes)),
            f"{'#' * (level + 1)} Paths",
            "What is not in this table is not supported.",
            table(
                ("rule", "producers", "functions", "types", "limits", "source"),
                (_path(rule, path) for rule, path in target.paths.items()),
            ),
        ]
    ) + "\n"  # fmt: skip


def _pass(step: PassDoc) -> str:
    told = dict(stated(step, ("source",)))
    kinds = [k for k in told if k not in ("repeat", "opset")]
    text = "; ".join(f"**{k}**" if told[k] is True else f"**{k}** {words(told[k])}" for k in kinds)
    text += "; repeated until nothing changes" if step.repeat == "fixpoint" else ""
    text += f"; opset {facts(step.opset)}" if "opset" in told else ""
    return text + (f" ({step.source})" if step.source else "")


def _path(rule: str, path: PathDoc) -> tuple[str, ...]:
    limits = "; ".join(fact(key, value) for key, value in stated(path, _COLUMNS))
    return (
        "every other rule" if rule == DEFAULT else f"`{rule}`",
        words(path.producers) if path.producers else "any",
        "any" if path.functions is None else words(path.functions),
        "; ".join(fact(key, value) for key, value in stated(path.dtypes)) or "any",
        limits,
        path.source,
    )


def checks_page() -> str:
    """Return the page of all checks: name, reason, requirement."""
    own = [c for c in CHECKS.values() if c.run.__module__.startswith("fusectl.")]
    rows = [(f"`{c.name}`", f"`{c.reason}`", _runs(c.name), c.requirement) for c in own]
    groups = (f"`{name}`: {_code(members)}" for name, members in GROUPS.items())
    return "\n\n".join(
        [
            "# Checks",
            "A check is one requirement. It holds, or it does not, or that cannot be known; the "
            "last two block the fusion and give the reason.",
            table(("check", "reason", "runs", "requirement"), sorted(rows)),
            "Names that stand for several checks in a rule's `require`; a pattern of more than two "
            "nodes has `single-user` always:",
            _bullets(groups),
        ]
    ) + "\n"  # fmt: skip


def _runs(name: str) -> str:
    if name in (*ALWAYS, "path-exists", "product-agrees"):
        return "always"
    return "with a path" if name in TARGET else "where a rule asks"


def support_table(rules: Iterable[Rule], targets: Iterable[Target]) -> str:
    """Return which target has a path for which rule in one of its passes."""
    targets = list(targets)
    named = [{t.value for p in target.passes for t in p.fuse or ()} for target in targets]
    rows = (
        (f"`{r.id}`", *("yes" if r.id in n and t.path(r.id) else "" for t, n in pairs))
        for r in rules
        for pairs in [list(zip(targets, named, strict=True))]
    )
    return table(("rule", *(t.id for t in targets)), rows)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table of Markdown; nothing in a cell can end it."""
    lines = [_row(head), "|" + "---|" * len(head), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    safe = (" ".join(c.split()).replace("|", "\\|") for c in cells)
    return f"|{'|'.join(f' {c} ' if c else ' ' for c in safe)}|"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _fenced(text: str) -> str:
    return f"```\n{text.strip()}\n```"
