#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""core_program.py CASE: cuda.core's objects on the simulated GPU: Device, Stream, Event, Buffer, pools, virtual memory, sharing."""
import array
import ctypes
import multiprocessing
import sys

from cuda.core import (
    Device,
    DeviceMemoryResource,
    DeviceMemoryResourceOptions,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Program,
    ProgramOptions,
    VirtualMemoryResource,
    VirtualMemoryResourceOptions,
    launch,
)

SIZE = 1 << 20


def start():
    device = Device(0)
    device.set_current()
    return device, device.create_stream()


def host(size):
    return LegacyPinnedMemoryResource().allocate(size)


def content(buffer, stream):
    """What a device buffer holds, read by a copy into pinned memory."""
    out = host(buffer.size)
    buffer.copy_to(out, stream=stream)
    stream.sync()
    return ctypes.string_at(int(out.handle), buffer.size)


def put(buffer, data, stream):
    source = host(buffer.size)
    ctypes.memmove(int(source.handle), data, buffer.size)
    buffer.copy_from(source, stream=stream)
    stream.sync()


def data(seed):
    return bytes((i * i + seed) % 251 for i in range(4096)) * (SIZE // 4096)


def device():
    gpu, _ = start()
    assert gpu.name == "NVIDIA H200", gpu.name
    assert tuple(gpu.compute_capability) == (9, 0)
    assert len(gpu.uuid) == 36
    assert gpu.properties.multiprocessor_count == 132 and gpu.properties.warp_size == 32
    assert [other.device_id for other in Device.get_all_devices()] == [0]


def streams():
    gpu, first = start()
    second = gpu.create_stream()
    a, b = gpu.allocate(SIZE, stream=first), gpu.allocate(SIZE, stream=first)
    put(a, data(1), first)
    b.copy_from(a, stream=first)
    # The second stream fills a quarter of it after the first one's copy: only the event orders them.
    copied = first.record()
    second.wait(copied)
    a.copy_from(b, stream=second)
    assert content(a, second) == data(1)
    assert copied.is_done
    a.fill(0x5A, stream=second)
    assert content(a, second) == b"\x5a" * SIZE
    for buffer in (a, b):
        buffer.close(second)
    first.sync()
    second.sync()


def own_pool():
    _, stream = start()
    pool = DeviceMemoryResource(0, DeviceMemoryResourceOptions(max_size=16 * SIZE))
    buffers = [pool.allocate(SIZE, stream=stream) for _ in range(4)]
    for seed, buffer in enumerate(buffers):
        put(buffer, data(seed), stream)
    assert [content(buffer, stream) == data(seed) for seed, buffer in enumerate(buffers)] == [True] * 4
    assert pool.attributes.used_mem_current == 4 * SIZE
    for buffer in buffers:
        buffer.close(stream)
    stream.sync()
    assert pool.attributes.used_mem_current == 0 and pool.attributes.used_mem_high == 4 * SIZE
    try:
        pool.allocate(64 * SIZE, stream=stream)
    except Exception as error:
        assert "OUT_OF_MEMORY" in str(error), error
    else:
        raise AssertionError("a pool of 16 MiB gave 64 MiB")
    pool.close()


def virtual_memory():
    _, stream = start()
    resource = VirtualMemoryResource(Device(0), VirtualMemoryResourceOptions(handle_type="posix_fd"))
    buffer = resource.allocate(2 * SIZE, stream=stream)
    put(buffer, data(2) * 2, stream)
    # The memory grows where it is or elsewhere; what it held stays. (Elsewhere: cuda.core 1.2.2 then frees the old range twice and warns.)
    grown = resource.modify_allocation(buffer, 8 * SIZE)
    assert grown.size == 8 * SIZE
    assert content(grown, stream)[: 2 * SIZE] == data(2) * 2
    grown.close()


def child(pool, buffer):
    _, stream = start()
    assert buffer.is_mapped and content(buffer, stream) == data(3), "the importer reads something else"
    put(buffer, data(4), stream)
    buffer.close(stream)
    pool.close()


def sharing():
    _, stream = start()
    multiprocessing.set_start_method("spawn")
    pool = DeviceMemoryResource(0, DeviceMemoryResourceOptions(ipc_enabled=True))
    buffer = pool.allocate(SIZE, stream=stream)
    put(buffer, data(3), stream)
    process = multiprocessing.Process(target=child, args=(pool, buffer))
    process.start()
    process.join(60)
    assert process.exitcode == 0, process.exitcode
    assert content(buffer, stream) == data(4), "what the other process wrote is not here"
    buffer.close(stream)
    pool.close()


def compile_to_ptx():
    """A CUDA C++ program, compiled by NVRTC to PTX, loaded and launched: the results of every element."""
    gpu, stream = start()
    source = """
    template <class T> __global__ void combine(const T* a, const T* b, T* out, T scale, size_t count) {
      const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
      if (i < count) out[i] = a[i] * scale + b[i];
    }"""
    program = Program(source, code_type="c++", options=ProgramOptions(std="c++17", arch="sm_" + "".join(map(str, gpu.compute_capability))))
    module = program.compile("ptx", name_expressions=("combine<float>",))
    kernel = module.get_kernel("combine<float>")
    count = SIZE // 4 - 77
    values = [array.array("f", ((i * k) % 1000 / 8 for i in range(SIZE // 4))) for k in (3, 7)]
    resource = DeviceMemoryResource(0)
    a, b, out = (resource.allocate(SIZE, stream=stream) for _ in range(3))
    for buffer, numbers in zip((a, b), values):
        put(buffer, numbers.tobytes(), stream)
    put(out, bytes(SIZE), stream)
    launch(stream, LaunchConfig(grid=(count + 255) // 256, block=256), kernel, a, b, out, ctypes.c_float(2.5), ctypes.c_size_t(count))
    got = array.array("f", content(out, stream))
    assert all(got[i] == values[0][i] * 2.5 + values[1][i] for i in range(count)), "wrong results"
    assert not any(got[count:]), "written beyond the end"
    for buffer in (a, b, out):
        buffer.close(stream)


CASES = [device, streams, own_pool, virtual_memory, sharing, compile_to_ptx]

if __name__ == "__main__":
    {function.__name__: function for function in CASES}[sys.argv[1]]()
