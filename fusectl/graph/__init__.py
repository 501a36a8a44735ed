"""An ONNX model as a read-only view, and the overlay on which passes run."""

from fusectl.graph.load import load_model
from fusectl.graph.overlay import Group, Overlay
from fusectl.graph.view import GraphView, ModelView, Node, Note, Step

__all__ = ["GraphView", "Group", "ModelView", "Node", "Note", "Overlay", "Step", "load_model"]
