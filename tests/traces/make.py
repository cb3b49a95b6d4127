#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the allocation traces in this folder: /usr/bin/python3 tests/traces/make.py [NAME...] (needs Debian's python3-torch).

A trace is plain text, one event per line: `a ID BYTES` and `f ID`, `#` comments; compressed with xz. No GPU and hardly any memory is
needed: the models run on PyTorch's meta device.
"""
import argparse
import lzma
import pathlib
import random
import sys

import torch
from torch.nn import functional as F

import models
from record import Recorder

META = "meta"


def adamw(parameters):
    """AdamW as the framework's plain loop does it: state at the first step, one temporary for the denominator."""
    return torch.optim.AdamW([p for p in parameters if p.requires_grad], lr=1e-4, foreach=False)


def token_step(model, optimizer, batch, length, half=False):
    ids = torch.empty(batch, length, dtype=torch.long, device=META)
    logits = model(ids)
    loss = F.cross_entropy(logits.view(-1, logits.shape[-1]).float() if half else logits.view(-1, logits.shape[-1]), ids.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def train_tokens(layers, width, heads, shapes, **kwargs):
    def run(recorder):
        model = models.Transformer(layers, width, heads, **kwargs)
        optimizer = adamw(model.parameters())
        for batch, length in shapes:
            token_step(model, optimizer, batch, length)
    return run


def lora(recorder):
    low_rank = lambda a, b: models.LowRank(a, b, 16, torch.float32)
    model = models.Transformer(24, 2048, 16, linear=low_rank)
    for embedding in (model.tokens, model.positions, model.head):
        embedding.requires_grad_(False)
    optimizer = adamw(model.parameters())
    for batch, length in [(4, 512), (4, 384), (4, 512)]:
        token_step(model, optimizer, batch, length)


def variable_lengths(recorder):
    lengths = random.Random(7)
    model = models.Transformer(12, 768, 12)
    optimizer = adamw(model.parameters())
    for _ in range(10):
        token_step(model, optimizer, 8, lengths.choice(range(96, 1024, 8)))


def experts(recorder):
    generator = torch.Generator().manual_seed(5)
    model = models.Transformer(8, 1024, 16, experts=lambda: models.Experts(1024, 4096, 8, generator))
    optimizer = adamw(model.parameters())
    for _ in range(3):
        token_step(model, optimizer, 4, 512)


def generate(recorder):
    """Inference: requests of different lengths come and go, each with a key-value cache that grows by concatenation."""
    choices = random.Random(11)
    with torch.no_grad():
        model = models.Transformer(16, 2048, 16).eval()
        requests = []
        for _ in range(110):
            if len(requests) < 5:
                caches = [[None, None] for _ in model.blocks]
                model(torch.empty(1, choices.randrange(32, 900), dtype=torch.long, device=META), caches)
                requests.append([choices.randrange(8, 60), caches])
            request = choices.choice(requests)
            model(torch.empty(1, 1, dtype=torch.long, device=META), request[1])
            request[0] -= 1
            if request[0] == 0:
                requests.remove(request)


def images(model_of, batches, target):
    def run(recorder):
        models.MetaConv2d.workspace = recorder.workspace
        model = model_of()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
        for shape in batches:
            x = torch.empty(*shape, device=META)
            loss = target(model(x), x)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            del x, loss
        models.MetaConv2d.workspace = None
    return run


def classify(logits, x):
    return F.cross_entropy(logits, torch.empty(x.shape[0], dtype=torch.long, device=META))


TRACES = {
    "gpt-2.7b-ctx128": train_tokens(32, 2560, 32, [(4, 128)] * 2, vocabulary=10000),
    "gpt-2.7b-ctx512": train_tokens(32, 2560, 32, [(4, 512)] * 2, vocabulary=10000),
    "gpt-2.7b-ctx2048": train_tokens(32, 2560, 32, [(1, 2048)] * 2, vocabulary=10000),
    "gpt-350m-ctx256": train_tokens(24, 1024, 16, [(8, 256)] * 3),
    "gpt-350m-ctx1024": train_tokens(24, 1024, 16, [(4, 1024)] * 3),
    "gpt-350m-ctx2048": train_tokens(24, 1024, 16, [(2, 2048)] * 3),
    "gpt-124m-varlen": variable_lengths,
    "lora-1.3b": lora,
    "moe-8x-ctx512": experts,
    "kv-cache-1.1b": generate,
    "resnet50-b64": images(models.resnet50, [(64, 3, 224, 224)] * 3, classify),
    "resnet50-drift": images(models.resnet50, [(b, 3, 224, 224) for b in (32, 33, 31, 48)], classify),
    "unet-b8": images(models.UNet, [(8, 4, 64, 64)] * 4, lambda out, x: F.mse_loss(out, x)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="traces to make (default: all): " + ", ".join(TRACES))
    folder = pathlib.Path(__file__).parent
    for name in parser.parse_args().names or TRACES:
        if name not in TRACES:
            sys.exit(f"make.py: no trace is called {name}; there are: {', '.join(TRACES)}")
        torch.manual_seed(1)
        recorder = Recorder()
        with recorder:
            TRACES[name](recorder)
        live, peak, sizes = 0, 0, {}
        lines = [f"# {name}: made by tests/traces/make.py with PyTorch {torch.__version__} on the meta device"]
        for event in recorder.events:
            if event[0] == "a":
                sizes[event[1]] = event[2]
                live += event[2]
                lines.append(f"a {event[1]} {event[2]}")
            else:
                live -= sizes[event[1]]
                lines.append(f"f {event[1]}")
            peak = max(peak, live)
        data = lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME)
        (folder / f"{name}.trace.xz").write_bytes(data)
        print(f"{name}: {len(recorder.events)} events, peak {peak / 2**30:.2f} GiB, {len(data) / 1024:.0f} KiB compressed", flush=True)


if __name__ == "__main__":
    main()
