# SPDX-License-Identifier: Apache-2.0
"""The programs whose allocations the traces hold: plain PyTorch models of the usual kinds, on the meta device."""
import torch
from torch import nn
from torch.nn import functional as F

META = "meta"


class MetaConv2d(torch.autograd.Function):
    """conv2d for the meta device, whose own convolution has no backward in PyTorch 1.13; allocates what cuDNN's does."""

    workspace = None  # set to a function of bytes: the library's scratch memory

    @staticmethod
    def forward(ctx, x, weight, stride, padding):
        ctx.save_for_backward(x, weight)
        if MetaConv2d.workspace:
            MetaConv2d.workspace(32 << 20 if x.numel() > 1 << 20 else 4 << 20)
        height = (x.shape[2] + 2 * padding - weight.shape[2]) // stride + 1
        width = (x.shape[3] + 2 * padding - weight.shape[3]) // stride + 1
        return torch.empty(x.shape[0], weight.shape[0], height, width, device=META, dtype=x.dtype)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        if MetaConv2d.workspace:
            MetaConv2d.workspace(32 << 20 if x.numel() > 1 << 20 else 4 << 20)
        grad_input = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        return grad_input, torch.empty_like(weight), None, None


class Conv(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride=1):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, kernel, kernel, device=META))
        self.stride, self.padding = stride, kernel // 2

    def forward(self, x):
        return MetaConv2d.apply(x, self.weight, self.stride, self.padding)


class LowRank(nn.Module):
    """A frozen linear layer with a trained low-rank addition (LoRA)."""

    def __init__(self, inputs, outputs, rank, dtype):
        super().__init__()
        self.frozen = nn.Linear(inputs, outputs, device=META, dtype=dtype)
        self.frozen.requires_grad_(False)
        self.down = nn.Linear(inputs, rank, bias=False, device=META, dtype=torch.float32)
        self.up = nn.Linear(rank, outputs, bias=False, device=META, dtype=torch.float32)

    def forward(self, x):
        return self.frozen(x) + self.up(self.down(F.dropout(x, 0.05).float())).to(x.dtype)


class Experts(nn.Module):
    """A mixture of experts whose routing differs at every step: sizes come from `generator`."""

    def __init__(self, width, hidden, count, generator):
        super().__init__()
        self.router = nn.Linear(width, count, bias=False, device=META)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden, device=META), nn.GELU(), nn.Linear(hidden, width, device=META)) for _ in range(count))
        self.generator = generator

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        gates = torch.softmax(self.router(flat), -1)
        shares = torch.rand(len(self.experts), generator=self.generator) ** 2
        counts = (shares / shares.sum() * flat.shape[0] * 2).long().clamp(min=1).tolist()
        out = torch.zeros_like(flat)
        for number, (expert, count) in enumerate(zip(self.experts, counts)):
            index = torch.empty(min(count, flat.shape[0]), dtype=torch.long, device=META)
            chosen = flat.index_select(0, index)
            out = out.index_add(0, index, expert(chosen) * gates.index_select(0, index)[:, number:number + 1])
        return out.view_as(x)


class Block(nn.Module):
    def __init__(self, width, heads, linear, feed_forward):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, device=META), nn.LayerNorm(width, device=META)
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.feed_forward = feed_forward

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x).to(x.dtype)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = (torch.cat([old, new], 2) if old is not None else new for old, new in zip(cache, (k, v)))
            cache[:] = [k, v]
        scores = torch.matmul(q, k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        if cache is None:
            scores = scores.masked_fill(torch.empty(length, length, dtype=torch.bool, device=META), float("-inf"))
        mixed = torch.matmul(F.dropout(torch.softmax(scores, -1), 0.1, self.training), v).transpose(1, 2).reshape(batch, length, width)
        x = x + F.dropout(self.out(mixed), 0.1, self.training)
        return x + F.dropout(self.feed_forward(self.norm2(x).to(x.dtype)), 0.1, self.training)


class Transformer(nn.Module):
    def __init__(self, layers, width, heads, vocabulary=50257, linear=None, experts=None):
        super().__init__()
        linear = linear or (lambda a, b: nn.Linear(a, b, device=META))
        self.tokens = nn.Embedding(vocabulary, width, device=META)
        self.positions = nn.Embedding(8192, width, device=META)
        plain = lambda: nn.Sequential(linear(width, 4 * width), nn.GELU(), linear(4 * width, width))
        self.blocks = nn.ModuleList(Block(width, heads, linear, (experts or plain)()) for _ in range(layers))
        self.norm = nn.LayerNorm(width, device=META)
        self.head = nn.Linear(width, vocabulary, bias=False, device=META)

    def forward(self, ids, caches=None):
        positions = torch.empty(ids.shape[1], dtype=torch.long, device=META)
        x = self.tokens(ids) + self.positions(positions)
        for number, block in enumerate(self.blocks):
            x = block(x, caches[number] if caches else None)
        return self.head(self.norm(x))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            Conv(inputs, width, 1), nn.BatchNorm2d(width, device=META), nn.ReLU(inplace=True),
            Conv(width, width, 3, stride), nn.BatchNorm2d(width, device=META), nn.ReLU(inplace=True),
            Conv(width, outputs, 1), nn.BatchNorm2d(outputs, device=META))
        self.short = nn.Identity() if inputs == outputs and stride == 1 else nn.Sequential(
            Conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs, device=META))

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def resnet50():
    layers = [Conv(3, 64, 7, 2), nn.BatchNorm2d(64, device=META), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for number in range(depth):
            layers.append(Bottleneck(inputs, width, stride if number == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000, device=META))


class UNet(nn.Module):
    """A diffusion-style U-Net: convolutions with group norm, skips, attention at the lowest resolution."""

    def __init__(self, width=128, levels=(1, 2, 3, 4)):
        super().__init__()
        pair = lambda a, b: nn.Sequential(Conv(a, b, 3), nn.GroupNorm(32, b, device=META), nn.SiLU(),
                                          Conv(b, b, 3), nn.GroupNorm(32, b, device=META), nn.SiLU())
        widths = [width * level for level in levels]
        self.first = Conv(4, width, 3)
        self.down = nn.ModuleList(pair(a, b) for a, b in zip([width] + widths, widths))
        self.middle = Block(widths[-1], 8, lambda a, b: nn.Linear(a, b, device=META),
                            nn.Sequential(nn.Linear(widths[-1], 4 * widths[-1], device=META), nn.GELU(),
                                          nn.Linear(4 * widths[-1], widths[-1], device=META)))
        self.up = nn.ModuleList(pair(a + b, b) for a, b in zip([widths[-1]] + widths[:0:-1], widths[::-1]))
        self.last = Conv(width, 4, 3)

    def forward(self, x):
        x, skips = self.first(x), []
        for stage in self.down:
            x = stage(x)
            skips.append(x)
            x = F.avg_pool2d(x, 2)
        batch, channels, height, width = x.shape
        x = self.middle(x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(batch, channels, height, width)
        for stage in self.up:
            x = stage(torch.cat([F.interpolate(x, scale_factor=2), skips.pop()], 1))
        return self.last(x)
