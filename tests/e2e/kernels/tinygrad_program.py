#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tinygrad_program.py CASE: computes something with tinygrad on whatever device DEV names, and prints numbers, one JSON line each.

`{"losses": [...]}` for trainings, `{"name": ..., "values": [...]}` for single results. Floats are printed so that every bit shows.
"""
import json
import sys

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn

STEPS = 12


def show(name, tensor):
    array = tensor.float().numpy() if tensor.dtype in (dtypes.half, dtypes.bfloat16) else tensor.numpy()
    print(json.dumps({"name": name, "values": np.asarray(array, dtype=np.float64).ravel().tolist()}))


def random(*shape, seed=0, scale=1.0):
    return Tensor((np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32))


def set_weights(model):
    """The same weights on every backend: its own random numbers may differ in the last bit."""
    for number, weight in enumerate(nn.state.get_parameters(model)):
        if weight.dtype == dtypes.float32 and weight.ndim > 1:
            weight.assign(random(*weight.shape, seed=100 + number, scale=0.3 / max(1, weight.shape[-1]) ** 0.5)).realize()


def train(model, optimizer, inputs, targets, loss_of, steps=STEPS):
    set_weights(model)

    @TinyJit
    def step(x, y):
        with Context(TRAINING=1):
            optimizer.zero_grad()
            loss = loss_of(model(x), y).backward()
            return loss.realize(*optimizer.schedule_step())

    losses = [step(inputs, targets).item() for _ in range(steps)]
    print(json.dumps({"losses": losses}))


class Mlp:
    def __init__(self):
        self.first, self.second, self.third = nn.Linear(16, 64), nn.Linear(64, 32), nn.Linear(32, 4)

    def __call__(self, x):
        return self.third(self.second(self.first(x).relu()).tanh())


class Cnn:
    def __init__(self):
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 16, 3), nn.BatchNorm(16)
        self.out = nn.Linear(16 * 3 * 3, 4)

    def __call__(self, x):
        x = self.norm1(self.conv1(x)).relu().max_pool2d()
        x = self.norm2(self.conv2(x)).relu().avg_pool2d()
        return self.out(x.flatten(1))


class Transformer:
    """One block over a small vocabulary: embedding, causal attention, feed-forward."""

    def __init__(self, width=32, heads=4, words=17):
        self.heads = heads
        self.embed, self.place = nn.Embedding(words, width), nn.Embedding(12, width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm1, self.norm2, self.out = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(width, words)

    def __call__(self, tokens):
        x = self.embed(tokens) + self.place(Tensor.arange(tokens.shape[1]).expand(tokens.shape))
        q, k, v = [part.reshape(*part.shape[:2], self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)]
        x = x + self.proj(Tensor.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(*x.shape))
        x = x + self.down(self.up(self.norm2(x)).gelu())
        return self.out(x)


def classes(count, kinds, seed):
    return Tensor(np.random.default_rng(seed).integers(0, kinds, count).astype(np.int32))


def cross_entropy(logits, targets):
    return logits.sparse_categorical_crossentropy(targets)


def mlp_sgd():
    model = Mlp()
    train(model, nn.optim.SGD(nn.state.get_parameters(model), lr=2.0), random(64, 16, seed=1), classes(64, 4, 2), cross_entropy)


def mlp_adam():
    model = Mlp()
    train(model, nn.optim.Adam(nn.state.get_parameters(model), lr=0.01), random(64, 16, seed=1), classes(64, 4, 2), cross_entropy)


def cnn():
    model = Cnn()
    train(model, nn.optim.SGD(nn.state.get_parameters(model), lr=0.05, momentum=0.9), random(16, 3, 16, 16, seed=3), classes(16, 4, 4), cross_entropy, steps=6)


def transformer():
    model = Transformer()
    tokens = np.random.default_rng(5).integers(0, 17, (8, 13)).astype(np.int32)
    train(model, nn.optim.Adam(nn.state.get_parameters(model), lr=0.01), Tensor(tokens[:, :-1].copy()), Tensor(tokens[:, 1:].copy()), cross_entropy, steps=6)


def operations():
    a, b = random(37, 5, seed=6), random(37, 5, seed=7)
    for name, result in {
        "arithmetic": (a + b) * a / (b.abs() + 0.5) - a.maximum(b), "exp": a.exp().log().sqrt(), "trigonometry": a.sin() + b.cos() * (a * 1000).sin(),
        "activations": a.relu() + b.sigmoid() + a.tanh() + b.gelu(), "comparisons": (a < b).where(a, b) + (a == a), "softmax": a.softmax(), "sums": a.sum(0) + b.max(0),
        "deviation": a.std(1) + b.var(1), "product": a.transpose() @ b, "round": (a * 10).round() + b.floor() + a.ceil() + b.trunc(), "pow": a.abs() ** 1.7,
        "argmax": a.argmax(1), "large sum": random(5000, seed=8).sum(), "pad": a.pad(((1, 2), (3, 0))).flip(0)[::2],
    }.items():
        show(name, result)
    for dtype in (dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64, dtypes.half, dtypes.double, dtypes.bool):
        c, d = (a * 3).abs().cast(dtype), (b * 3).abs().cast(dtype)
        show(f"{dtype} sum", (c + d).sum(1))
        show(f"{dtype} product", (c * d).max(0))
        if dtypes.is_int(dtype):
            show(f"{dtype} bits", ((c ^ 5) | d) & 7)
            show(f"{dtype} quotient", c // (d + 1) + c % (d + 1))


def data_movement():
    table = random(20, 6, seed=9)
    order = Tensor(np.random.default_rng(10).integers(0, 20, 33).astype(np.int32))
    show("gather", table[order])
    show("embedding", nn.Embedding(5, 3)(Tensor([1, 4, 0])) * 0)
    show("scatter", Tensor.zeros(20).scatter(0, order.cast(dtypes.int32), random(33, seed=11).abs() * 0 + 1))
    values, places = random(100, seed=12).sort()
    show("sort", values)
    show("sort places", places)
    show("cumsum", random(300, seed=13).cumsum())
    show("cumulative product", (random(50, seed=14) * 0.1 + 1).cumprod(0))
    show("top", random(64, seed=15).topk(5)[0])
    Tensor.manual_seed(7)
    show("random", Tensor.rand(1000))
    show("random integers", Tensor.randint(1000, low=0, high=100))


def half_product():
    """Large enough for tinygrad to use the tensor cores' instruction."""
    for dtype in (dtypes.half, dtypes.bfloat16):
        a, b = random(64, 96, seed=16).cast(dtype).realize(), random(96, 48, seed=17).cast(dtype).realize()
        show(f"{dtype} product", a.matmul(b, dtype=dtypes.float))
        show(f"{dtype} product", Tensor(a.float().numpy().astype(np.float64) @ b.float().numpy().astype(np.float64)))


def two_devices():
    names = [f"{Device.DEFAULT}:0", f"{Device.DEFAULT}:1"]
    a = random(64, 8, seed=18)
    show("sharded", (a.shard(names, axis=0) * 2 + 1).sum(axis=1))
    show("moved", (a.to(names[1]) @ a.to(names[1]).transpose()).to(names[0])[0])
    show("reduced", a.shard(names, axis=0).sum())


if __name__ == "__main__":
    Tensor.manual_seed(3)
    globals()[sys.argv[1]]()
