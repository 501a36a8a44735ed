"""An independent witness: does a fusion compute what its nodes do, and take only what is its?"""

import numpy as np
import onnx

from fusectl.report.types import Decision, Report
from tests.mutations.group import Contradiction, check_private, group_of, require
from tests.mutations.semantics import MEANINGS, meaning_of
from tests.mutations.values import Array, NotRunnable, Values, all_values

# Constants of patterns may be off by a part in a thousand.
_TOLERANCE = {"f2": 3e-2, "f4": 4e-3, "f8": 4e-3}


def contradictions(model: onnx.ModelProto, report: Report) -> list[str]:
    """What is wrong with the fusions of a report, one line each. Raises NotRunnable."""
    values: Values | None = None
    found = []
    for decision in report.decisions:
        if decision.verdict != "fuse" or decision.edge.producer.graph:
            continue
        if values is None:
            values = all_values(model)
        try:
            judge(model, report, decision, values)
        except Contradiction as error:
            found.append(f"{decision.rule}: {error}")
    return found


def judge(model: onnx.ModelProto, report: Report, decision: Decision, values: Values) -> None:
    """Hold one fusion against the model. Raises Contradiction."""
    copied = {o for n in model.graph.node if n.op_type == "DequantizeLinear" for o in n.output}
    check_private(model, report, decision, frozenset(copied))
    # A kernel that adds or multiplies first may write that as well; one operator has one result.
    # What is copied is still written by its original.
    may = copied if decision.rule in MEANINGS else copied | {decision.edge.value}
    also = ", ".join(v for v in decision.materialises if v not in may)
    require(not also, f"it cannot write {also} as well")
    if decision.builds_on:
        return  # its nodes include those of another decision, which has been judged by itself
    group = group_of(model, report, decision, values)
    if not group.results or not group.result.size:
        return  # nobody reads what it makes
    try:
        with np.errstate(all="ignore"):
            fused = meaning_of(decision.rule)(group)
    except (NotRunnable, ValueError, IndexError) as error:
        raise Contradiction(f"the fused operator cannot run: {error}") from None
    _compare(group.result, fused)


def _compare(actual: Array, fused: Array) -> None:
    require(actual.shape == fused.shape, f"the nodes make {actual.shape}, it makes {fused.shape}")
    if actual.dtype.kind != "f":
        same_type = actual.dtype == fused.dtype or fused.dtype.kind == "f"
        require(same_type, f"the nodes make {actual.dtype}, it makes {fused.dtype}")
        require(bool(np.array_equal(actual, fused)), f"other numbers: {_worst(actual, fused)}")
        return
    slack = _TOLERANCE[actual.dtype.str[1:]]
    close = np.allclose(actual, fused, rtol=slack, atol=slack, equal_nan=True)
    require(close, f"other numbers: {_worst(actual, fused)}")


def _worst(actual: Array, fused: Array) -> str:
    gap = np.abs(actual.astype(np.float64) - fused.astype(np.float64)).reshape(-1)
    place = int(np.nanargmax(gap)) if gap.size and not np.isnan(gap).all() else 0
    return f"{actual.reshape(-1)[place]} and {fused.reshape(-1)[place]}"
