"""The tiler: fits, covers, never worse than what a search of everything finds."""

from itertools import product

import pytest

from fusectl.tiling import Work, best, tiled, work_of
from fusectl.tiling.geometry import Convolution, Product
from fusectl.tiling.tiler import legal

LEGAL = ("none", "m", "n")
PRODUCTS = [(8, 8, 64), (64, 8, 8), (8, 64, 8), (40, 24, 48), (7, 5, 200), (1, 1, 900), (3, 77, 9)]


def _of(m: int, n: int, k: int) -> Work:
    return work_of(Product(m, n, k), (2, 2, 2))


def _halves(whole: int) -> set[int]:
    return {-(-whole // 2**i) for i in range(whole.bit_length() + 1)}


@pytest.mark.parametrize("sizes", PRODUCTS)
@pytest.mark.parametrize("budget", [700, 2048, 1 << 20])
def test_nothing_that_fits_is_cheaper(sizes: tuple[int, int, int], budget: int) -> None:
    shape = _of(*sizes)
    found = best(shape, budget, LEGAL)
    every = [
        tiled(shape, m, n, k)
        for m, n, k in product(*map(_halves, sizes))
        if shape.footprint(m, n, k) <= budget
    ]
    assert found is not None
    assert shape.footprint(found.m, found.n, found.k) <= budget
    assert found.moved == min(t.moved for t in every)
    if any(legal(t, LEGAL) for t in every if t.moved == found.moved):
        assert legal(found, LEGAL)


def test_of_equal_cost_the_legal_one() -> None:
    shape = _of(8, 8, 150)
    over_k, over_m = tiled(shape, 8, 8, 75), tiled(shape, 4, 8, 150)
    assert over_k.moved == over_m.moved
    found = best(shape, 4096, LEGAL)
    assert found is not None
    assert found.moved == over_k.moved
    assert len(found.splits) == 1
    assert legal(found, LEGAL)


def test_the_whole_is_cut_where_only_cuts_have_code() -> None:
    found = best(_of(8, 8, 8), 1 << 20, ("m",), only_legal=True)
    assert found is not None
    assert found.splits == ("m",)


def test_the_whole_where_it_fits() -> None:
    found = best(_of(8, 8, 8), 1 << 20, LEGAL)
    assert found is not None
    assert found.splits == ()
    assert found.tiles == 1


def test_nothing_where_nothing_fits() -> None:
    assert best(_of(8, 8, 8), 8, LEGAL) is None


def test_a_convolution_reads_rows_twice_where_windows_overlap() -> None:
    sizes = Convolution(1, 1, 4, 8, (16, 16), (3, 3), (1, 1), (1, 1), (0, 0), (14, 14))
    shape = work_of(sizes, (2, 2, 2))
    whole, halves = tiled(shape, 14, 8, 4), tiled(shape, 7, 8, 4)
    assert halves.moved - whole.moved == 2 * 4 * 16 * 2  # two rows of four channels, two bytes each
