"""The reasons: public slugs in headline order, with the class that tells legality from policy.

Slugs are public: never renamed, never reused. The page of each reason is a Markdown file in
``fusectl/reason_pages``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).with_name("reason_pages")


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: its class, its slug and one sentence on what the finding says."""

    group: str
    slug: str
    finding: str


_TABLE = """
adjacency requantize            a conversion of scale, zero point or integer width stands between
adjacency clip                  a range limit stands between
adjacency cast                  a change of element type stands between
adjacency layout                a reorder or a reshape that is not seen through stands between
adjacency intervening-op        any other operator stands between
users     multi-user            the intermediate value has another consumer
users     graph-output          the intermediate value is returned by the graph
users     subgraph-capture      the intermediate value is read inside an If, Loop or Scan body
users     shared-initializer    a constant that the fusion would consume has other users
state     already-fused         the slot of the producer that the fusion needs is taken
state     claimed               another decision holds one of the nodes
pattern   op-mismatch           a node of the pattern is another operator, domain or arity
pattern   attribute             an attribute or attribute-like constant is not as allowed
pattern   not-constant          an operand has to be known at compile time and is not
pattern   constant-value        a constant differs from what the pattern needs
pattern   shape                 shapes do not correspond
pattern   extra-outputs         an optional output is in use
target    unsupported-op        the target has no path for this rule with this producer
target    unsupported-activation the function is not enabled on this path
target    unsupported-dtype     an element type has no implementation
target    unsupported-shape     a rank, bias shape or size is outside the table
target    unsupported-opset     an operator version or domain is outside the table
target    unsupported-grouping  this grouping has no code for the fused form
target    lut-incomplete        the table cannot be built or addressed
target    over-budget           tables, parameters, tiles or a row do not fit the stated memory
numerics  inexact               the equivalence asked for is stronger than what the fused form keeps
policy    not-profitable        legal and supported, but the target's cost model refuses
policy    disabled              switched off by configuration
coverage  no-rule               two adjacent compute nodes that no rule of the target covers
"""

REASONS: dict[str, Reason] = {
    slug: Reason(group, slug, finding)
    for group, slug, finding in (line.split(None, 2) for line in _TABLE.strip().splitlines())
}
ORDER: dict[str, int] = {slug: place for place, slug in enumerate(REASONS)}


def page(slug: str) -> str:
    """Return the Markdown page of a reason: meaning, why it is a boundary, example, remedy."""
    return (PAGES / f"{slug}.md").read_text(encoding="utf-8")
