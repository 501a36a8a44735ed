"""The worst element of a comparison, in a sentence."""

from __future__ import annotations

from fusectl.report.verification import Witness


def sentence(witness: Witness) -> str:
    """Return where the worst element is, what stood there and how far off that is."""
    if not witness.absolute:
        return "equal to the last bit"
    unit = f"absolute, {witness.relative:.2g} relative"
    if witness.whole:
        unit = "code" if witness.absolute == 1 else "codes"
    place = ",".join(map(str, witness.place))
    return (
        f"{witness.output}[{place}] is {witness.actual}, not {witness.expected}: "
        f"{witness.absolute:.3g} {unit}, {witness.inputs} inputs"
    )
