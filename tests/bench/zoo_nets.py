"""Small networks of kinds that no model hub has ready, spelt as their papers' code spells them."""

# mypy: allow-subclassing-any
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.bench.zoo_net import Make, Net, net


class Chomp(nn.Module):
    """A causal convolution: padded on both sides and cut on the right."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 3, padding=2 * dilation, dilation=dilation)
        self.cut = 2 * dilation

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)[:, :, : -self.cut].contiguous()


class Temporal(nn.Module):
    """Temporal convolutional network: residual blocks of two causal convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(8, 16, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(Chomp(16, d), nn.ReLU(), nn.Dropout(0.1), Chomp(16, d), nn.ReLU())
            for d in (1, 2, 4)
        )
        self.last = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = torch.relu(block(x) + x)
        return F.log_softmax(self.last(x[:, :, -1]), dim=1)


class Wave(nn.Module):
    """WaveNet: gated dilated convolutions, skip connections summed."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 16, 1)
        self.gates = nn.ModuleList(nn.Conv1d(16, 32, 2, dilation=2**i) for i in range(4))
        self.residual = nn.ModuleList(nn.Conv1d(16, 16, 1) for _ in range(4))
        self.skip = nn.ModuleList(nn.Conv1d(16, 24, 1) for _ in range(4))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(24, 24, 1), nn.ReLU(), nn.Conv1d(24, 32, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        total: Tensor | None = None
        for gate, residual, skip in zip(self.gates, self.residual, self.skip, strict=True):
            a, b = gate(x).chunk(2, dim=1)
            z = torch.tanh(a) * torch.sigmoid(b)
            s = skip(z)
            total = s if total is None else total[:, :, -s.shape[2] :] + s
            x = residual(z) + x[:, :, -z.shape[2] :]
        return self.last(total)


class Yolo(nn.Module):
    """A detector with SiLU blocks, a C2f neck and a head of boxes and scores."""

    def __init__(self, activation: Callable[[], nn.Module] = nn.SiLU) -> None:
        super().__init__()

        def block(i: int, o: int, k: int = 3, s: int = 1) -> nn.Module:
            conv = nn.Conv2d(i, o, k, s, k // 2, bias=False)
            return nn.Sequential(conv, nn.BatchNorm2d(o), activation())

        self.stem = block(3, 16, 3, 2)
        self.down = block(16, 32, 3, 2)
        self.cut = block(32, 32, 1)
        self.inner = nn.ModuleList(nn.Sequential(block(16, 16), block(16, 16)) for _ in range(2))
        self.join = block(64, 32, 1)
        self.deep = block(32, 48, 3, 2)
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.spp = block(192, 48, 1)
        self.side = block(80, 32, 1)
        self.box, self.score = nn.Conv2d(32, 16, 1), nn.Conv2d(32, 6, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.cut(self.down(self.stem(x)))
        parts = list(x.chunk(2, 1))
        for inner in self.inner:
            parts.append(parts[-1] + inner(parts[-1]))
        shallow = self.join(torch.cat(parts, 1))
        deep = self.deep(shallow)
        one = self.pool(deep)
        two = self.pool(one)
        deep = self.spp(torch.cat([deep, one, two, self.pool(two)], 1))
        up = F.interpolate(deep, scale_factor=2.0, mode="nearest")
        x = self.side(torch.cat([up, shallow], 1))
        box = self.box(x).flatten(2).view(x.shape[0], 4, 4, -1).transpose(1, 2).softmax(1)
        steps = torch.arange(4, dtype=box.dtype).view(1, 4, 1, 1)
        return (box * steps).sum(1), self.score(x).flatten(2).sigmoid()


class Segment(nn.Module):
    """U-Net with transposed convolutions and instance normalisation."""

    def __init__(self) -> None:
        super().__init__()

        def pair(i: int, o: int) -> nn.Module:
            return nn.Sequential(
                nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.2),
                nn.Conv2d(o, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.2),
            )  # fmt: skip

        self.enter, self.middle, self.bottom = pair(1, 8), pair(8, 16), pair(16, 32)
        self.up1, self.up2 = nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)
        self.left, self.right = pair(32, 16), pair(16, 8)
        self.gate = nn.Conv2d(8, 8, 1)
        self.out = nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.enter(x)
        b = self.middle(F.max_pool2d(a, 2))
        c = self.bottom(F.avg_pool2d(b, 2))
        b = self.left(torch.cat([self.up1(c), b], 1))
        a = torch.sigmoid(self.gate(a)) * a
        return self.out(self.right(torch.cat([self.up2(b), a], 1))).softmax(1)


class Recurrent(nn.Module):
    """CRNN: convolutions, a bidirectional recurrent layer, a classifier a step."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(True), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.Hardswish(), nn.MaxPool2d(2),
        )  # fmt: skip
        self.cell = getattr(nn, kind)(64, 24, bidirectional=True, batch_first=True)
        self.out = nn.Linear(48, 11)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        x = x.permute(0, 3, 1, 2).flatten(2)
        return self.out(self.cell(x)[0]).log_softmax(-1)


class Sharpen(nn.Module):
    """Super-resolution: residual blocks scaled by 0.1 with PReLU, then PixelShuffle."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.PReLU(16), nn.Conv2d(16, 16, 3, 1, 1))
            for _ in range(3)
        )
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 4, 1), nn.ReLU(),
            nn.Conv2d(4, 16, 1), nn.Sigmoid(),
        )  # fmt: skip
        self.up = nn.Sequential(nn.Conv2d(16, 48, 3, padding=1), nn.PixelShuffle(2))
        self.last = nn.Conv2d(12, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = start = self.first((x - 0.45) / 0.225)
        for block in self.blocks:
            x = x + 0.1 * block(x)
        x = x * self.squeeze(x) + start
        return (self.last(self.up(x)) * 0.225 + 0.45).clamp(0, 1)


class Restyle(nn.Module):
    """Image to image: reflection padding, instance normalisation, Tanh at the end."""

    def __init__(self) -> None:
        super().__init__()

        def turn(i: int, o: int, k: int, s: int = 1) -> list[nn.Module]:
            return [nn.ReflectionPad2d(k // 2), nn.Conv2d(i, o, k, s), nn.InstanceNorm2d(o)]

        self.enter = nn.Sequential(*turn(3, 8, 7), nn.ReLU(), *turn(8, 16, 3, 2), nn.ReLU())
        self.block = nn.Sequential(*turn(16, 16, 3), nn.ReLU(), *turn(16, 16, 3))
        self.leave = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(8), nn.ReLU(),
            nn.ReflectionPad2d(3), nn.Conv2d(8, 3, 7), nn.Tanh(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        return (self.leave(x + self.block(x)) + 1) / 2


class Speaker(nn.Module):
    """ECAPA-TDNN: squeeze and excitation in time, attentive statistics pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Conv1d(20, 32, 5, padding=2), nn.ReLU(), nn.BatchNorm1d(32))
        self.split = nn.ModuleList(nn.Conv1d(8, 8, 3, padding=2, dilation=2) for _ in range(3))
        self.norm = nn.ModuleList(nn.BatchNorm1d(8) for _ in range(3))
        self.down, self.up = nn.Conv1d(32, 8, 1), nn.Conv1d(8, 32, 1)
        self.attend = nn.Sequential(nn.Conv1d(96, 16, 1), nn.Tanh(), nn.Conv1d(16, 32, 1))
        self.out = nn.Sequential(nn.BatchNorm1d(64), nn.Linear(64, 16))

    def forward(self, x: Tensor) -> Tensor:
        x = start = self.enter(x)
        parts = list(torch.split(x, 8, 1))
        for i, (conv, norm) in enumerate(zip(self.split, self.norm, strict=True)):
            parts[i + 1] = norm(torch.relu(conv(parts[i + 1] + parts[i])))
        x = torch.cat(parts, 1)
        x = x * torch.sigmoid(self.up(torch.relu(self.down(x.mean(2, keepdim=True))))) + start
        mean, spread = x.mean(2, keepdim=True), x.var(2, keepdim=True).clamp(min=1e-4).sqrt()
        around = torch.cat([x, mean.expand_as(x), spread.expand_as(x)], 1)
        w = self.attend(around).softmax(2)
        mean = (w * x).sum(2)
        spread = ((w * x * x).sum(2) - mean**2).clamp(min=1e-4).sqrt()
        return F.normalize(self.out(torch.cat([mean, spread], 1)))


class Separate(nn.Module):
    """Conv-TasNet: global layer normalisation written out, PReLU, masks."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Conv1d(1, 32, 16, 8, bias=False)
        self.narrow = nn.Conv1d(32, 16, 1)
        self.widen = nn.ModuleList(nn.Conv1d(16, 24, 1) for _ in range(3))
        self.depth = nn.ModuleList(
            nn.Conv1d(24, 24, 3, padding=2**i, dilation=2**i, groups=24) for i in range(3)
        )
        self.back = nn.ModuleList(nn.Conv1d(24, 16, 1) for _ in range(3))
        self.act = nn.ModuleList(nn.PReLU() for _ in range(6))
        self.gain = nn.ParameterList(nn.Parameter(torch.ones(1, 24, 1)) for _ in range(6))
        self.bias = nn.ParameterList(nn.Parameter(torch.zeros(1, 24, 1)) for _ in range(6))
        self.mask = nn.Conv1d(16, 64, 1)
        self.decode = nn.ConvTranspose1d(32, 1, 16, 8, bias=False)

    def norm(self, x: Tensor, i: int) -> Tensor:
        mean = x.mean((1, 2), keepdim=True)
        var = ((x - mean) ** 2).mean((1, 2), keepdim=True)
        return self.gain[i] * (x - mean) / torch.pow(var + 1e-8, 0.5) + self.bias[i]

    def forward(self, x: Tensor) -> Tensor:
        wave = F.relu(self.encode(x))
        y = self.narrow(wave)
        for i in range(3):
            z = self.norm(self.act[2 * i](self.widen[i](y)), 2 * i)
            z = self.norm(self.act[2 * i + 1](self.depth[i](z)), 2 * i + 1)
            y = y + self.back[i](z)
        masks = F.relu(self.mask(y)).view(-1, 2, 32, wave.shape[2])
        return torch.cat([self.decode(wave * masks[:, 0]), self.decode(wave * masks[:, 1])], 1)


class Vocoder(nn.Module):
    """HiFi-GAN: transposed convolutions and residual stacks of dilated ones, averaged."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(20, 32, 7, padding=3)
        self.up = nn.ModuleList(
            [nn.ConvTranspose1d(32, 16, 8, 4, 2), nn.ConvTranspose1d(16, 8, 4, 2, 1)]
        )
        self.stacks = nn.ModuleList(
            nn.ModuleList(
                nn.Conv1d(c, c, k, padding=(k - 1) * d // 2, dilation=d)
                for k, d in ((3, 1), (5, 3))
            )
            for c in (16, 8)
        )
        self.last = nn.Conv1d(8, 1, 7, padding=3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for up, stack in zip(self.up, self.stacks, strict=True):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(conv(F.leaky_relu(x, 0.1)) + x for conv in stack) / 2
        return torch.tanh(self.last(F.leaky_relu(x)))


class Points(nn.Module):
    """PointNet: a learnt turn of the points, shared layers, a maximum over all points."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU())
        self.matrix = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 9))
        self.shared = nn.Sequential(
            nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 1), nn.BatchNorm1d(32),
        )  # fmt: skip
        self.head = nn.Sequential(
            nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4)
        )

    def forward(self, x: Tensor) -> Tensor:
        turn = self.matrix(self.turn(x).amax(2)) + torch.eye(3).flatten()
        x = torch.bmm(x.transpose(2, 1), turn.view(-1, 3, 3)).transpose(2, 1)
        return self.head(torch.max(self.shared(x), 2)[0]).softmax(-1)


class Factors(nn.Module):
    """DeepFM: embeddings, second-order products and a deep part."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.linear = nn.Embedding(200, 8), nn.Embedding(200, 1)
        self.deep = nn.Sequential(
            nn.Linear(48, 32), nn.BatchNorm1d(32), nn.ReLU(),
            nn.Linear(32, 16), nn.ELU(), nn.Linear(16, 1),
        )  # fmt: skip
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, ids: Tensor) -> Tensor:
        e = self.embed(ids)
        pairs = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(self.linear(ids).sum(1) + pairs + self.deep(e.flatten(1)) + self.bias)


class Conformer(nn.Module):
    """Conformer block with half-step feed-forwards, GLU, relative shift left out."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.sub = nn.Sequential(nn.Conv2d(1, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 8, 3, 2), nn.ReLU())
        self.enter = nn.Linear(8 * 4, width)
        self.ff = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 64), nn.SiLU(), nn.Linear(64, width)
            )
            for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.point, self.depth = (
            nn.Conv1d(width, 2 * width, 1),
            nn.Conv1d(width, width, 7, 1, 3, groups=width),
        )
        self.batch, self.last = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

    def attend(self, x: Tensor) -> Tensor:
        q, k, v = (t.view(x.shape[0], -1, 4, 8).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(8)
        return self.out(torch.matmul(scores.softmax(-1), v).transpose(1, 2).flatten(2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.sub(x.unsqueeze(1))
        x = self.enter(x.transpose(1, 2).flatten(2))
        x = x + 0.5 * self.ff[0](x)
        x = x + self.attend(self.norms[0](x))
        y = F.glu(self.point(self.norms[1](x).transpose(1, 2)), dim=1)
        y = self.last(F.silu(self.batch(self.depth(y))))
        x = x + y.transpose(1, 2)
        x = x + 0.5 * self.ff[1](x)
        return self.norms[2](x)


class Keyword(nn.Module):
    """DS-CNN for keywords: depthwise separable convolutions, average, Softmax."""

    def __init__(self, last: Callable[[], nn.Module] = nn.ReLU6) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(1, 16, (10, 4), 2, (5, 1)),
            nn.BatchNorm2d(16),
            nn.ReLU(),
        ]
        for _ in range(3):
            layers += [nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), last()]
            layers += [nn.Conv2d(16, 16, 1), nn.BatchNorm2d(16), nn.ReLU()]
        self.body, self.out = nn.Sequential(*layers), nn.Linear(16, 12)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.body(x).mean([2, 3])).softmax(1)


class Graph(nn.Module):
    """Graph attention on a dense adjacency matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.lift = nn.Linear(12, 16, bias=False)
        self.left, self.right = nn.Linear(16, 1), nn.Linear(16, 1)
        self.again = nn.Linear(16, 4)

    def forward(self, x: Tensor, near: Tensor) -> Tensor:
        h = self.lift(x)
        scores = F.leaky_relu(self.left(h) + self.right(h).transpose(1, 2), 0.2)
        weight = scores.masked_fill(near < 0.5, -1e9).softmax(-1)
        h = F.elu(weight @ h)
        degree = near.sum(-1, keepdim=True) + 1
        return (near @ self.again(h) / degree).log_softmax(-1)


class Flow(nn.Module):
    """RealNVP: coupling layers with bounded scales."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.ModuleList(
            nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4), nn.Tanh())
            for _ in range(4)
        )
        self.shift = nn.ModuleList(
            nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 4)) for _ in range(4)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.chunk(2, 1)
        total = torch.zeros_like(a[:, 0])
        for scale, shift in zip(self.scale, self.shift, strict=True):
            s = scale(a)
            a, b = b * torch.exp(s) + shift(a), a
            total = total + s.sum(1)
        z = torch.cat([a, b], 1)
        return z, total - 0.5 * (z**2).sum(1)


class Encoder(nn.Module):
    """Variational autoencoder, with its noise as an input."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.ELU(), nn.Conv2d(8, 16, 4, 2, 1), nn.ELU()
        )
        self.mean, self.spread = nn.Linear(256, 8), nn.Linear(256, 8)
        self.back = nn.Linear(8, 256)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, 2, 1),
        )  # fmt: skip

    def forward(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        h = self.down(x).flatten(1)
        mean, spread = self.mean(h), self.spread(h)
        z = mean + torch.exp(0.5 * spread) * noise
        y = torch.sigmoid(self.up(torch.relu(self.back(z)).view(-1, 16, 4, 4)))
        return y, -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum(1)


class Sentence(nn.Module):
    """Text classifier: parallel convolutions over embeddings, maximum over time."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.convs = nn.ModuleList(nn.Conv1d(16, 12, k) for k in (2, 3, 4))
        self.highway, self.gate = nn.Linear(36, 36), nn.Linear(36, 36)
        self.out = nn.Linear(36, 3)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids).transpose(1, 2)
        h = torch.cat([torch.relu(conv(x)).amax(-1) for conv in self.convs], 1)
        gate = torch.sigmoid(self.gate(h))
        h = gate * torch.relu(self.highway(h)) + (1 - gate) * h
        return self.out(h)


class Volume(nn.Module):
    """Three-dimensional convolutions with Mish and group normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv3d(1, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.Mish(), nn.MaxPool3d(2),
            nn.Conv3d(8, 16, (1, 3, 3), padding=(0, 1, 1)), nn.BatchNorm3d(16), nn.ReLU(),
            nn.Conv3d(16, 16, (3, 1, 1), padding=(1, 0, 0)), nn.BatchNorm3d(16), nn.LeakyReLU(),
            nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 5),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class Pyramid(nn.Module):
    """Atrous spatial pyramid pooling, bilinear upsampling, hard activations."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.Hardswish())
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(16, 8, 3, padding=d, dilation=d, bias=False), nn.BatchNorm2d(8), nn.ReLU()
            )
            for d in (1, 2, 4)
        )
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 8, 1), nn.Hardsigmoid())
        self.join = nn.Sequential(
            nn.Conv2d(32, 8, 1), nn.BatchNorm2d(8), nn.SELU(), nn.Conv2d(8, 4, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        parts = [branch(y) for branch in self.branches]
        parts.append(F.interpolate(self.pool(y), size=y.shape[2:], mode="bilinear"))
        y = self.join(torch.cat(parts, 1))
        return F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=False).argmax(1)


class Policy(nn.Module):
    """Actor and critic: Tanh layers, a squashed mean, a bounded spread, one trunk."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(17, 32), nn.LayerNorm(32), nn.Tanh(), nn.Linear(32, 32), nn.ELU()
        )
        self.mean, self.spread, self.value = nn.Linear(32, 6), nn.Linear(32, 6), nn.Linear(32, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.trunk(x.clamp(-10, 10))
        return torch.tanh(self.mean(h)) * 2.0, self.spread(h).clamp(-5, 2).exp(), self.value(h)


class Basis(nn.Module):
    """N-BEATS: blocks whose backcast is taken off the input, forecasts summed."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 25)
            )
            for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        scale = x.abs().mean(1, keepdim=True) + 1e-3
        x, total = x / scale, torch.zeros(1)
        for block in self.blocks:
            back, front = block(x).split([20, 5], 1)
            x, total = F.relu(x - back), total + front
        return total * scale


class Mixture(nn.Module):
    """A dense mixture of experts with gated linear units and RMS normalisation written out."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(16))
        self.route = nn.Linear(16, 4)
        self.up, self.gate = (
            nn.Parameter(torch.randn(4, 16, 24) / 4),
            nn.Parameter(torch.randn(4, 16, 24) / 4),
        )
        self.down = nn.Parameter(torch.randn(4, 24, 16) / 5)

    def forward(self, x: Tensor) -> Tensor:
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain
        weight = self.route(y).softmax(-1)
        hidden = F.gelu(torch.einsum("bnd,edf->benf", y, self.gate), approximate="tanh")
        hidden = hidden * torch.einsum("bnd,edf->benf", y, self.up)
        out = torch.einsum("benf,efd->bend", hidden, self.down)
        return x + (out * weight.permute(0, 2, 1).unsqueeze(-1)).sum(1)


class Shuffle(nn.Module):
    """ShuffleNet of grouped convolutions and shuffled channels."""

    def __init__(self) -> None:
        super().__init__()

        def norm(i: int, o: int, k: int, s: int, g: int) -> nn.Module:
            return nn.Sequential(
                nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(o)
            )

        self.stem = norm(3, 24, 3, 2, 1)
        self.enter, self.depth, self.leave = (
            norm(24, 24, 1, 1, 3),
            norm(24, 24, 3, 1, 24),
            norm(24, 24, 1, 1, 3),
        )
        self.out = nn.Conv2d(24, 7, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu6(self.stem(x))
        y = F.relu(self.enter(x))
        b, c, h, w = y.shape
        y = y.view(b, 3, c // 3, h, w).transpose(1, 2).reshape(b, c, h, w)
        x = F.relu(x + self.leave(self.depth(y)))
        return self.out(F.adaptive_avg_pool2d(x, 1)).flatten(1)


def _image(size: int = 64, channels: int = 3) -> Tensor:
    return torch.rand(2, channels, size, size)


def _ids(high: int, *shape: int) -> Tensor:
    return torch.randint(1, high, shape)


def _of(module: Callable[[], nn.Module], *inputs: Callable[[], Tensor]) -> Make:
    def make() -> Net:
        built: Sequence[Tensor] = [i() for i in inputs]
        return net(module(), *built)

    return make


NETS: dict[str, Make] = {
    "tcn": _of(Temporal, lambda: torch.randn(2, 8, 30)),
    "wavenet": _of(Wave, lambda: torch.randn(2, 1, 64)),
    "yolo_silu": _of(Yolo, _image),
    "yolo_mish": _of(lambda: Yolo(nn.Mish), _image),
    "yolo_leaky": _of(lambda: Yolo(lambda: nn.LeakyReLU(0.1)), _image),
    "unet_instance": _of(Segment, lambda: _image(32, 1)),
    "crnn_lstm": _of(lambda: Recurrent("LSTM"), lambda: torch.rand(2, 1, 16, 48)),
    "crnn_gru": _of(lambda: Recurrent("GRU"), lambda: torch.rand(2, 1, 16, 48)),
    "edsr": _of(Sharpen, lambda: _image(24)),
    "cyclegan": _of(Restyle, lambda: _image(32)),
    "ecapa": _of(Speaker, lambda: torch.randn(2, 20, 40)),
    "convtasnet": _of(Separate, lambda: torch.randn(2, 1, 256)),
    "hifigan": _of(Vocoder, lambda: torch.randn(2, 20, 12)),
    "pointnet": _of(Points, lambda: torch.randn(2, 3, 50)),
    "deepfm": _of(Factors, lambda: _ids(200, 4, 6)),
    "conformer": _of(Conformer, lambda: torch.randn(2, 40, 20)),
    "dscnn": _of(Keyword, lambda: torch.randn(2, 1, 49, 10)),
    "dscnn_hardswish": _of(lambda: Keyword(nn.Hardswish), lambda: torch.randn(2, 1, 49, 10)),
    "gat": _of(Graph, lambda: torch.randn(2, 9, 12), lambda: (torch.rand(2, 9, 9) > 0.4).float()),
    "realnvp": _of(Flow, lambda: torch.randn(3, 8)),
    "vae": _of(Encoder, lambda: torch.rand(2, 1, 16, 16), lambda: torch.randn(2, 8)),
    "textcnn": _of(Sentence, lambda: _ids(100, 2, 20)),
    "volume": _of(Volume, lambda: torch.randn(2, 1, 8, 16, 16)),
    "aspp": _of(Pyramid, lambda: _image(48)),
    "actor_critic": _of(Policy, lambda: torch.randn(2, 17)),
    "nbeats": _of(Basis, lambda: torch.randn(2, 20)),
    "moe_dense": _of(Mixture, lambda: torch.randn(2, 7, 16)),
    "shufflenet_v1": _of(Shuffle, _image),
}
"""Makers of networks by family."""
