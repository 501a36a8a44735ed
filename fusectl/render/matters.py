"""What matters: the causes to fix first, and what fixing cannot change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from fusectl.render.causes import Cause, Fate, Kept, alike, decisive, doubt, fixes, lacks, told
from fusectl.render.edges import edge
from fusectl.render.paths import shared_path, without
from fusectl.render.sheet import Sheet
from fusectl.render.wording import count, observation, remedy, slug, slugs, spelled, statement
from fusectl.report.types import Decision, Finding

_OTHERS: tuple[tuple[Fate, str], ...] = (
    ("several", "More than one thing to fix"),
    ("machine", "No change to the model helps"),
    ("policy", "Possible, but not chosen"),
    ("held", "Node taken by another fusion"),
    ("elsewhere", "Fused another way"),
    ("farther", "Another rule comes nearer"),
)

_LINES = 3
"""Lines for one sentence: a value may have a hundred readers."""

_NEEDS = 3


def add_matters(sheet: Sheet, groups: Sequence[Kept], shown: int | None, brief: bool) -> None:
    """Add the causes that alone stand in the way, then one line for each other fate.

    ``brief`` leaves out what each decision says again further down.
    """
    ranked = fixes(groups)
    top = first_causes(ranked, shown)
    sheet.blank()
    if top:
        _add_causes(sheet, heading(top), top, brief)
    elif any(g.fate == "several" for g in groups):
        _add_nearest(sheet, [g for g in groups if g.fate == "several"], brief)
    elif any(g.fate == "machine" for g in groups):
        lacking = "Nothing in the model to fix; what this machine lacks most"
        _add_causes(sheet, lacking, lacks(groups)[:1], brief)
    elif groups:
        sheet.add(("No change to the model helps.", "bold"))
    rest = ranked[len(top) :]
    if rest:
        edges = count(sum(len(c.decisions) for c in rest), "edge")
        sheet.add(f"And {count(len(rest), 'other cause')}, {edges}: see below.")
    for fate, words in _OTHERS:
        decisions = [d for g in groups if g.fate == fate for d in g.decisions]
        if decisions and not (brief and fate == "several"):
            listed = f"{count(len(decisions), 'candidate')} ({', '.join(tally(decisions, fate))})"
            sheet.add_items((f"{words}: ", "bold"), listed.split(", "), hang=2)


def _add_causes(sheet: Sheet, title: str, causes: Sequence[Cause], brief: bool) -> None:
    sheet.add((f"{title}:", "bold green"))
    for number, cause in enumerate(causes, 1):
        _add_cause(sheet, number, cause, brief)


def first_causes(ranked: Sequence[Cause], most: int | None) -> Sequence[Cause]:
    """Return the causes to tell first: the sure ones, or if there are none the doubtful ones."""
    sure = [c for c in ranked if not doubt(c.finding)]
    return (sure or ranked)[:most]


def heading(causes: Sequence[Cause]) -> str:
    """Return ``Fix these three things, gain 12 fusions``."""
    if doubt(causes[0].finding):
        return "No sure gain; worth a look"
    many = len(causes) > 1
    things = f"these {spelled(len(causes))} things" if many else "this one thing"
    gain = sum(len(c.decisions) for c in causes)
    if all(c.finding.status == "fail" for c in causes):
        return f"Fix {things}, gain {count(gain, 'fusion')}"
    chance = "gain up to" if gain > 1 else "and perhaps gain"
    return f"Fix {things}, {chance} {count(gain, 'fusion')}"


def _add_cause(sheet: Sheet, number: int, cause: Cause, brief: bool) -> None:
    """Add a cause: how many edges, an example, what is observed, what helps."""
    first, edges = cause.decisions[0], len(cause.decisions)
    lead, name = f" {number}. ", slug(cause.finding)
    whole = edge(first, 2 * sheet.width, sheet.encoding)
    beside = sheet.width - len(lead) - len(name) - 2
    if edges == 1 and cell_len(whole) <= beside:
        sheet.add((lead, "bold"), (name, "bold cyan"), f": {whole}", hang=4)
    else:
        more = f", {edges} edges" if edges > 1 else ""
        sheet.add((lead, "bold"), (name, "bold cyan"), f"{more}, {cause.rule}", hang=4)
        example = "e.g. " if edges > 1 else ""
        text = edge(first, sheet.width - 4 - len(example), sheet.encoding)
        sheet.add(f"{example}{text}", indent=4, hang=2)
    _add_finding(sheet, first, cause.finding, brief)


def _add_finding(sheet: Sheet, decision: Decision, finding: Finding, brief: bool) -> None:
    """Add what is observed, what the rule requires if there is room for it, and what helps."""
    home = ""
    if not brief:
        home = shared_path([decision.edge.producer.label, decision.edge.consumer.label])
    whole, seen, more, helped = (
        without(home, text, sheet.dots)
        for text in (
            statement(decision, finding, where=False),
            observation(decision, finding) + ".",
            alike(decision, finding),
            remedy(finding),
        )
    )
    # A sentence on what stands between is none without the requirement; others are.
    long = sheet.height(whole, indent=4) > _LINES or (brief and finding.group != "adjacency")
    sheet.add(seen if long else whole, indent=4, most=_LINES)
    if more:
        sheet.add(more, indent=4, most=1)
    if helped:
        sheet.add(("help: ", "bold green"), helped, indent=4, most=_LINES)


def _add_nearest(sheet: Sheet, several: Sequence[Kept], brief: bool) -> None:
    """Say that no single cause decides, and what the edges with the fewest causes need."""
    nearest = min(several, key=lambda g: (len(told(g.first)), -len(g.decisions)))
    findings = told(nearest.first)
    needs = f"No single change gains a fusion; the nearest needs {spelled(len(findings))}: "
    if brief:
        sheet.add_items((needs, "bold"), [slug(f) for f in findings], hang=2)
        return
    sheet.add((needs, "bold"))
    edges = len(nearest.decisions)
    more = f" and {edges - 1} more" if edges > 1 else ""
    shown = edge(nearest.first, sheet.width - 4 - len(more), sheet.encoding)
    sheet.add(f"{shown}{more}", indent=4, hang=2)
    for number, finding in enumerate(findings[:_NEEDS], 1):
        sheet.add((f" {number}. ", "bold"), (slug(finding), "bold cyan"), hang=4)
        _add_finding(sheet, nearest.first, finding, brief)
    if len(findings) > _NEEDS:
        sheet.add(" and ", (", ".join(slug(f) for f in findings[_NEEDS:]), "cyan"), hang=4)


def tally(decisions: Iterable[Decision], fate: Fate, most: int = 4) -> list[str]:
    """Return the reasons that make a fate, with counts: ``unsupported-op 9``."""
    counts = Counter(_reason(d, fate) for d in decisions)
    shown = [f"{reason} {number}" for reason, number in counts.most_common(most)]
    return shown + ["..."] * (len(counts) > most)


def _reason(decision: Decision, fate: Fate) -> str:
    if fate == "several":
        return slugs(decision)
    found = decisive(decision, fate)
    return found.reason if found else "no finding"
