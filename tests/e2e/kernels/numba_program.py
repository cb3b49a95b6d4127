#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""numba_program.py CASE: CUDA kernels by Numba's built-in target, each checked against numpy."""
import math
import sys

import numpy as np
from numba import cuda, float32, int32

RANDOM = np.random.default_rng(1)


def check(got, expected, tolerance=1e-6):
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def vector_add():
    @cuda.jit
    def kernel(out, a, b):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    a, b = RANDOM.random(1000), RANDOM.random(1000)
    out = cuda.device_array(1000)
    kernel[8, 128](out, cuda.to_device(a), b)
    check(out.copy_to_host(), a + b)


def reduction():
    @cuda.jit
    def kernel(out, a):
        shared = cuda.shared.array(128, dtype=float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        shared[t] = a[i] if i < a.size else 0
        cuda.syncthreads()
        step = 64
        while step > 0:
            if t < step:
                shared[t] += shared[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            cuda.atomic.add(out, 0, shared[0])

    a = RANDOM.random(3000).astype(np.float32)
    out = np.zeros(1, np.float32)
    kernel[24, 128](out, a)
    check(out[0], a.sum(), 1e-5)


def histogram():
    @cuda.jit
    def kernel(bins, values):
        for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
            cuda.atomic.add(bins, values[i], 1)

    values = RANDOM.integers(0, 16, 5000).astype(np.int32)
    bins = np.zeros(16, np.int32)
    kernel[4, 64](bins, values)
    assert (bins == np.bincount(values, minlength=16)).all()


def tiled_product():
    @cuda.jit
    def kernel(out, a, b):
        left, right = cuda.shared.array((8, 8), float32), cuda.shared.array((8, 8), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for tile in range(a.shape[1] // 8):
            left[tx, ty] = a[x, ty + tile * 8]
            right[tx, ty] = b[tx + tile * 8, y]
            cuda.syncthreads()
            for k in range(8):
                total += left[tx, k] * right[k, ty]
            cuda.syncthreads()
        out[x, y] = total

    a, b = RANDOM.random((32, 24)).astype(np.float32), RANDOM.random((24, 16)).astype(np.float32)
    out = np.zeros((32, 16), np.float32)
    kernel[(4, 2), (8, 8)](out, a, b)
    check(out, a @ b, 1e-5)


def streams():
    @cuda.jit
    def kernel(a, factor):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = a[i] * factor + 1

    first, second = cuda.stream(), cuda.stream()
    a, b = cuda.to_device(np.arange(500.0), stream=first), cuda.to_device(np.arange(500.0), stream=second)
    for _ in range(3):
        kernel[4, 128, first](a, 2)
        kernel[4, 128, second](b, 3)
    first.synchronize()
    second.synchronize()
    check(a.copy_to_host(), np.arange(500.0) * 8 + 7)
    check(b.copy_to_host(), np.arange(500.0) * 27 + 13)


def mathematics():
    @cuda.jit
    def kernel(out, a):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = math.sin(a[i]) + math.exp(-a[i]) * math.log(a[i] + 1) + math.pow(a[i], 1.5) + math.erf(a[i]) + math.gamma(a[i] + 1)

    a = RANDOM.random(300) * 5
    out = np.zeros(300)
    kernel[3, 128](out, a)
    expected = [math.sin(x) + math.exp(-x) * math.log(x + 1) + x**1.5 + math.erf(x) + math.gamma(x + 1) for x in a]
    check(out, expected, 1e-9)


def warps():
    @cuda.jit
    def kernel(out, a):
        i = cuda.threadIdx.x
        value = a[i]
        step = 16
        while step > 0:
            value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
            step //= 2
        out[i] = value + cuda.popc(cuda.ballot_sync(0xFFFFFFFF, i < 5))

    a = np.arange(32, dtype=np.int32)
    out = np.zeros(32, np.int32)
    kernel[1, 32](out, a)
    assert (out == 496 + 5).all(), out


def device_functions():
    @cuda.jit(device=True)
    def collatz(n):
        steps = int32(0)
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            steps += 1
        return steps

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        local = cuda.local.array(4, int32)
        for k in range(4):
            local[k] = collatz(i + k + 1)
        out[i] = local[i % 4] + local[(i + 1) % 4]

    def steps(n):
        count = 0
        while n != 1:
            n, count = (3 * n + 1 if n % 2 else n // 2), count + 1
        return count

    out = np.zeros(64, np.int32)
    kernel[2, 32](out)
    assert out.tolist() == [steps(i + i % 4 + 1) + steps(i + (i + 1) % 4 + 1) for i in range(64)]


ALL = [vector_add, reduction, histogram, tiled_product, streams, mathematics, warps, device_functions]

if __name__ == "__main__":
    for case in ALL:
        if sys.argv[1] in ("all", case.__name__):
            case()
            print(case.__name__, "ok")
