"""The versions of operators that a model imports, and operators that these do not have."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import onnx

from fusectl.graph.functions import Identity
from fusectl.graph.view import GraphView, ModelView, schema

_OWN = ("", "ai.onnx")


def imported(
    view: ModelView, imports: Iterable[onnx.OperatorSetIdProto], nodes: Iterable[onnx.NodeProto]
) -> dict[str, int]:
    """Return the version of each domain; of one that is imported twice the higher, with a note.

    ``nodes`` are those that need a version: where all are of other domains, ONNX's may be missing.
    """
    found: dict[str, int] = {}
    for entry in imports:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if domain in found and found[domain] != entry.version:
            view.note(
                "warning",
                f"the opset of domain {domain or 'ai.onnx'!r} is imported as {found[domain]} "
                f"and as {entry.version}; the higher is taken",
            )
        found[domain] = max(found.get(domain, 0), entry.version)
    newest = onnx.defs.onnx_opset_version()
    if "" not in found and any(n.domain in _OWN for n in nodes):
        view.note("warning", f"no opset of ai.onnx is imported; opset {newest} is assumed")
    elif found.get("", 0) > newest:
        view.note(
            "warning",
            f"opset {found['']} is newer than the installed onnx knows ({newest}); "
            f"operators are read by opset {newest}",
        )
    return found


def tell_unknown(view: GraphView, own: Collection[Identity]) -> None:
    """Note the operators that ONNX's domain does not have at the opset of a scope.

    ``own`` are the model's functions.
    """
    defined = {name for domain, name, _ in own if domain in _OWN}
    opset, newest = view.opset(), onnx.defs.onnx_opset_version()
    for kind in sorted({n.op_type for n in view.nodes if not n.domain}):
        if kind in defined or schema(kind, "", opset):
            continue
        first = next((v for v in range(opset + 1, newest + 1) if schema(kind, "", v)), 0)
        since = f"; it came with opset {first}" if first else ""
        view.model.note("warning", f"{kind} is no operator of ONNX at opset {opset}{since}", kind)
