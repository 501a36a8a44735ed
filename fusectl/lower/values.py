"""How the machine holds a value of the model: type, shape, role."""

from __future__ import annotations

from fusectl.graph.constants import Unreadable
from fusectl.graph.overlay import Overlay
from fusectl.lower.jobs import Unlowerable, Value
from fusectl.program import Encoding, Role
from fusectl.tables.target_schema import Lowering


class Values:
    """The values of one scope, made when first asked for."""

    def __init__(self, overlay: Overlay, lowering: Lowering) -> None:
        """Take a scope as the passes left it, and how the target holds element types."""
        self._overlay = overlay
        self._held = lowering.held
        self._inputs = set(overlay.view.inputs)
        self.known: dict[str, Value] = {}

    def real(self, name: str) -> str:
        """Return the name under which a value still exists after merging and eliminating."""
        return self._overlay.real(name)

    def value(self, name: str) -> Value:
        """Return a value. Raises Unlowerable where its shape or type is not known."""
        name = self.real(name)
        found = self.known.get(name)
        if found is None:
            found = self.known[name] = self._make(name)
        return found

    def held(self, name: str) -> str:
        """Return the element type in which the machine holds a value, empty: not known."""
        dtype = self._overlay.type_of(self.real(name)).dtype
        return self._held.get(dtype, dtype)

    def _make(self, name: str) -> Value:
        known = self._overlay.type_of(name)
        shape, dtype = known.static, known.dtype
        if self._overlay.is_constant(name) and (shape is None or not dtype):
            try:
                array = self._overlay.array(name)
            except (Unreadable, KeyError) as error:
                raise Unlowerable(f"{name}: {error}") from None
            shape, dtype = array.shape, str(array.dtype)
        if shape is None or not dtype:
            raise Unlowerable(
                f"{name} is {known}: a program needs static shapes and known element types"
            )
        encoding = Encoding(self._held.get(dtype, dtype))
        return Value(name, shape, dtype, encoding, self._role(name))

    def _role(self, name: str) -> Role:
        if self._overlay.is_constant(name):
            return "constant"
        if name in self._inputs:
            return "input"
        return "output" if name in self._overlay.returned else "value"
