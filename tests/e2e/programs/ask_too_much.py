# SPDX-License-Identifier: Apache-2.0
"""Allocates in steps of 64 MiB until it is refused, then frees, goes on working, and says what happened: plain ctypes, no framework."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
context, taken, address = ctypes.c_void_p(), [], ctypes.c_uint64()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
print(f"the program is told: {total.value >> 20} MiB in all, {free.value >> 20} MiB free")
code = 0
while code == 0:
    code = cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64 << 20))
    if code == 0:
        taken.append(address.value)
print(f"got {len(taken) * 64} MiB, then error {code}")
assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
print(f"and is told: {free.value >> 20} MiB free")
for block in taken:
    assert cuda.cuMemFree_v2(ctypes.c_uint64(block)) == 0
code = cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64 << 20))
print(f"after freeing everything, asking again gives {code}")
