"""How a product that does not fit the on-chip memory is cut, before anything is fused."""

from fusectl.tiling.geometry import Convolution, Product, read_geometry
from fusectl.tiling.tiler import Tiling, best, fits, tiled
from fusectl.tiling.work import Work, work_of

__all__ = [
    "Convolution", "Product", "Tiling", "Work", "best", "fits", "read_geometry", "tiled",
    "work_of",
]  # fmt: skip
