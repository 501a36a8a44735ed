"""Types as a plain shape inference finds them: one that hardly follows sizes through the graph.

Compilers often stop where a shape is computed (Shape, Gather, Concat into Reshape), and then keep
what they could fuse: a target says so with ``follow_sizes: copied``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import onnx

from fusectl.graph.dtypes import complete
from fusectl.graph.refine import refine
from fusectl.graph.shapes import StandIn, infer, invented, types_of
from fusectl.graph.types import TensorType
from fusectl.graph.view import GraphView

_SIZES = ("Shape", "Size")


def computes_sizes(view: GraphView) -> bool:
    """Tell whether a scope asks any value for its shape, so that following it can find more."""
    return any(node.op in _SIZES for node in view.nodes)


def plain_types(
    view: GraphView,
    model: onnx.ModelProto,
    alike: Mapping[str, StandIn],
    like_first: Collection[str],
) -> Mapping[str, TensorType]:
    """Return the types of the main graph's values without what computed sizes tell.

    Symbols that an earlier shape inference left in the file count as they stand there.
    """
    stated = invented(model.graph)

    def inferred(model: onnx.ModelProto) -> dict[str, TensorType]:
        return types_of(infer(model, alike, follow=False)[0].graph, stated)

    stored = {v: t for v, t in view.types.items() if v in view.constants}
    plain = replace(view, types=inferred(model) | stored)
    complete(plain, like_first)
    refine(plain, model, inferred, follow=False)
    return plain.types
