"""A network to export, with weights and statistics that leave no two values equal by chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Net:
    """A module in evaluation mode, its inputs in order, and their names.

    The first axis of every input is the batch.
    """

    module: Any
    inputs: tuple[Tensor, ...]
    names: tuple[str, ...]


Make = Callable[[], Net]
"""Makes a network anew; its weights follow from the seed that is set."""


def net(module: nn.Module, *inputs: Tensor, names: tuple[str, ...] = ()) -> Net:
    """Return a network whose constants that are all alike have been stirred."""
    module.eval()
    stir(module, inputs)
    names = names or tuple(f"input_{i}" for i in range(len(inputs)))
    return Net(module.eval(), inputs, names)


def stir(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    """Give weights a realistic scale, and make biases, gains and statistics non-trivial.

    With a bias of zeros, a gain of ones or a layer scale of 1e-6 two values are as good as equal,
    and an edge looks fused where nothing is. Statistics of batches, the only buffers changed, are
    near those of the inputs.
    """
    norms = [m for m in module.modules() if isinstance(getattr(m, "running_var", None), Tensor)]
    with torch.no_grad():
        for parameter in module.parameters():
            _stir(parameter)
        for norm in norms:
            norm.momentum = 1.0
            norm.train()
        if norms:
            module(*inputs)
        for norm in norms:
            norm.momentum = 0.1
            norm.eval()
            norm.running_var.mul_(0.7 + 0.6 * torch.rand_like(norm.running_var)).add_(1e-2)
            norm.running_mean.add_(
                0.2 * norm.running_var.sqrt() * torch.randn_like(norm.running_var)
            )


def _stir(weight: Tensor) -> None:
    if not weight.is_floating_point() or not weight.numel():
        return
    low, high = float(weight.min()), float(weight.max())
    if low == high:
        if abs(low) < 0.05:
            weight.normal_(0, 0.2) if weight.numel() > 1 else weight.uniform_(0.3, 0.9)
        else:
            weight.mul_(1 + 0.2 * torch.randn_like(weight))
    elif weight.dim() > 1:
        wanted = 1 / math.sqrt(weight[0].numel())
        if float(weight.std()) < 0.5 * wanted:
            weight.mul_(wanted / float(weight.std()))
