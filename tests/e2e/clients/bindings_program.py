#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bindings_program.py CASE: memory, streams, pools and sharing between processes, by cuda.bindings.driver alone."""
import ctypes
import os
import subprocess
import sys

import numpy as np
from cuda.bindings import driver

MIB = 1 << 20
SIZE = 4 * MIB


def ok(answer):
    """The results of a call without its code; the exception names a code that is not success."""
    code, *values = answer
    if code != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"{code!r}")
    return values[0] if len(values) == 1 else tuple(values)


def refused(answer, code):
    assert answer[0] == code, f"{answer[0]!r}, not {code!r}"


def pattern(seed):
    return np.random.default_rng(seed).integers(0, 256, SIZE, dtype=np.uint8)


def read(address, size=SIZE):
    out = np.zeros(size, np.uint8)
    ok(driver.cuMemcpyDtoH(out, address, size))
    return out


def start():
    ok(driver.cuInit(0))
    device = ok(driver.cuDeviceGet(0))
    context = ok(driver.cuDevicePrimaryCtxRetain(device))
    ok(driver.cuCtxSetCurrent(context))
    return device


def spawn(role, *arguments, descriptors=()):
    """A new process, which shares nothing but what is passed. Its output is ours; its failure too."""
    subprocess.run([sys.executable, __file__, role, *[str(word) for word in arguments]], pass_fds=descriptors, check=True, timeout=60)


def linear():
    start()
    data = pattern(1)
    free_before, total = ok(driver.cuMemGetInfo())
    a, b = ok(driver.cuMemAlloc(SIZE)), ok(driver.cuMemAlloc(SIZE))
    assert ok(driver.cuMemGetInfo()) == (free_before - 2 * SIZE, total)
    ok(driver.cuMemcpyHtoD(a, data, SIZE))
    ok(driver.cuMemcpyDtoD(b, a, SIZE))
    ok(driver.cuMemsetD8(int(b) + 100, 7, 50))
    data[100:150] = 7
    assert (read(b) == data).all()
    base, size = ok(driver.cuMemGetAddressRange(int(b) + 12345))
    assert (int(base), size) == (int(b), SIZE)
    kind = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    assert ok(driver.cuPointerGetAttribute(kind, a)) == driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    for address in (a, b):
        ok(driver.cuMemFree(address))
    assert ok(driver.cuMemGetInfo())[0] == free_before
    refused(driver.cuMemFree(a), driver.CUresult.CUDA_ERROR_INVALID_VALUE)
    refused(driver.cuMemAlloc(2 * total), driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY)
    assert ok(driver.cuMemGetInfo())[0] == free_before


def streams_and_events():
    start()
    data, out = pattern(2), np.zeros(SIZE, np.uint8)
    blocking = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
    first, second = ok(driver.cuStreamCreate(blocking)), ok(driver.cuStreamCreate(blocking))
    a, b = ok(driver.cuMemAlloc(SIZE)), ok(driver.cuMemAlloc(SIZE))
    begin, copied, end = (ok(driver.cuEventCreate(0)) for _ in range(3))
    ok(driver.cuEventRecord(begin, first))
    ok(driver.cuMemcpyHtoDAsync(a, data, SIZE, first))
    ok(driver.cuEventRecord(copied, first))
    # The second stream reads what the first one writes: only the event orders them.
    ok(driver.cuStreamWaitEvent(second, copied, 0))
    ok(driver.cuMemcpyDtoDAsync(b, a, SIZE, second))
    ok(driver.cuMemcpyDtoHAsync(out, b, SIZE, second))
    ok(driver.cuEventRecord(end, second))
    ok(driver.cuEventSynchronize(end))
    assert (out == data).all()
    ok(driver.cuEventQuery(copied))
    ok(driver.cuStreamQuery(second))
    assert ok(driver.cuEventElapsedTime(begin, end)) > 0
    for event in (begin, copied, end):
        ok(driver.cuEventDestroy(event))
    for stream in (first, second):
        ok(driver.cuStreamDestroy(stream))


def host_and_managed():
    start()
    data = pattern(3)
    pinned = ok(driver.cuMemHostAlloc(SIZE, driver.CU_MEMHOSTALLOC_DEVICEMAP))
    ctypes.memmove(pinned, data.ctypes.data, SIZE)
    device_view = ok(driver.cuMemHostGetDevicePointer(pinned, 0))
    target = ok(driver.cuMemAlloc(SIZE))
    ok(driver.cuMemcpyDtoD(target, device_view, SIZE))
    assert (read(target) == data).all()
    ok(driver.cuMemFreeHost(pinned))
    managed = ok(driver.cuMemAllocManaged(SIZE, driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL.value))
    ok(driver.cuMemcpyDtoD(managed, target, SIZE))
    ok(driver.cuCtxSynchronize())
    assert ctypes.string_at(int(managed), SIZE) == data.tobytes()
    ok(driver.cuMemFree(managed))
    own = pattern(4)
    ok(driver.cuMemHostRegister(own.ctypes.data, SIZE, 0))
    ok(driver.cuMemcpyHtoD(target, own, SIZE))
    ok(driver.cuMemHostUnregister(own.ctypes.data))
    assert (read(target) == own).all()


def pools():
    device = start()
    stream = ok(driver.cuStreamCreate(0))
    data = pattern(5)
    properties = driver.CUmemPoolProps()
    properties.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.handleTypes = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_NONE
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = 0
    for pool in (ok(driver.cuDeviceGetDefaultMemPool(device)), ok(driver.cuMemPoolCreate(properties))):
        keep = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        used = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
        reserved = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
        ok(driver.cuMemPoolSetAttribute(pool, keep, driver.cuuint64_t(2**64 - 1)))
        address = ok(driver.cuMemAllocFromPoolAsync(SIZE, pool, stream))
        ok(driver.cuMemcpyHtoDAsync(address, data, SIZE, stream))
        ok(driver.cuStreamSynchronize(stream))
        assert (read(address) == data).all()
        assert int(ok(driver.cuMemPoolGetAttribute(pool, used))) == SIZE
        ok(driver.cuMemFreeAsync(address, stream))
        ok(driver.cuStreamSynchronize(stream))
        # Nothing is in use; the threshold keeps the memory, and trimming gives it back.
        assert int(ok(driver.cuMemPoolGetAttribute(pool, used))) == 0
        assert int(ok(driver.cuMemPoolGetAttribute(pool, reserved))) >= SIZE
        ok(driver.cuMemPoolTrimTo(pool, 0))
        assert int(ok(driver.cuMemPoolGetAttribute(pool, reserved))) == 0
    ok(driver.cuMemPoolDestroy(pool))


def shareable():
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = 0
    properties.requestedHandleTypes = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    return properties


def open_mapping(handle, size, flags=driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE):
    address = ok(driver.cuMemAddressReserve(size, 0, 0, 0))
    ok(driver.cuMemMap(address, size, 0, handle, 0))
    access = driver.CUmemAccessDesc()
    access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = 0
    access.flags = flags
    ok(driver.cuMemSetAccess(address, size, [access], 1))
    return address


def close_mapping(address, size):
    ok(driver.cuMemUnmap(address, size))
    ok(driver.cuMemAddressFree(address, size))


def virtual_memory():
    start()
    free_before = ok(driver.cuMemGetInfo())[0]
    data = pattern(6)
    unit = ok(driver.cuMemGetAllocationGranularity(shareable(), driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM))
    assert unit == 2 * MIB
    handle = ok(driver.cuMemCreate(SIZE, shareable(), 0))
    # One allocation at two addresses: what one writes the other reads.
    first, second = open_mapping(handle, SIZE), open_mapping(handle, SIZE)
    ok(driver.cuMemcpyHtoD(first, data, SIZE))
    assert (read(second) == data).all()
    same = ok(driver.cuMemRetainAllocationHandle(int(first)))
    assert int(same) == int(handle)
    ok(driver.cuMemRelease(same))
    descriptor = ok(driver.cuMemExportToShareableHandle(handle, driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
    spawn("import_descriptor", descriptor, descriptors=(descriptor,))
    assert (read(first) == data[::-1]).all(), "what the other process wrote is not here"
    close_mapping(first, SIZE)
    ok(driver.cuMemRelease(handle))
    assert ok(driver.cuMemGetInfo())[0] == free_before - SIZE, "a mapping keeps its memory"
    close_mapping(second, SIZE)
    os.close(descriptor)
    assert ok(driver.cuMemGetInfo())[0] == free_before
    refused(driver.cuMemCreate(SIZE + 1, shareable(), 0), driver.CUresult.CUDA_ERROR_INVALID_VALUE)


def import_descriptor():
    start()
    kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    handle = ok(driver.cuMemImportFromShareableHandle(int(sys.argv[2]), kind))
    address = open_mapping(handle, SIZE)
    data = read(address)
    assert (data == pattern(6)).all(), "the importer reads something else"
    ok(driver.cuMemcpyHtoD(address, np.ascontiguousarray(data[::-1]), SIZE))
    close_mapping(address, SIZE)
    ok(driver.cuMemRelease(handle))


def ipc():
    start()
    data = pattern(7)
    address = ok(driver.cuMemAlloc(SIZE))
    ok(driver.cuMemcpyHtoD(address, data, SIZE))
    handle = ok(driver.cuIpcGetMemHandle(address))
    spawn("open_handle", bytes(handle.reserved).hex())
    assert (read(address) == data[::-1]).all(), "what the other process wrote is not here"
    # A process cannot open what is its own.
    refused(driver.cuIpcOpenMemHandle(handle, 1), driver.CUresult.CUDA_ERROR_INVALID_CONTEXT)
    ok(driver.cuMemFree(address))


def open_handle():
    start()
    handle = driver.CUipcMemHandle()
    handle.reserved = bytes.fromhex(sys.argv[2])
    address = ok(driver.cuIpcOpenMemHandle(handle, driver.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.value))
    data = read(address)
    assert (data == pattern(7)).all(), "the importer reads something else"
    ok(driver.cuMemcpyHtoD(address, np.ascontiguousarray(data[::-1]), SIZE))
    ok(driver.cuIpcCloseMemHandle(address))


def pool_ipc():
    start()
    stream = ok(driver.cuStreamCreate(0))
    kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    properties = driver.CUmemPoolProps()
    properties.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.handleTypes = kind
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = 0
    pool = ok(driver.cuMemPoolCreate(properties))
    address = ok(driver.cuMemAllocFromPoolAsync(SIZE, pool, stream))
    ok(driver.cuMemcpyHtoDAsync(address, pattern(8), SIZE, stream))
    ok(driver.cuStreamSynchronize(stream))
    descriptor = ok(driver.cuMemPoolExportToShareableHandle(pool, kind, 0))
    pointer = ok(driver.cuMemPoolExportPointer(address))
    spawn("import_pool", descriptor, bytes(pointer.reserved).hex(), descriptors=(descriptor,))
    assert (read(address) == pattern(8)[::-1]).all(), "what the other process wrote is not here"
    ok(driver.cuMemFreeAsync(address, stream))
    ok(driver.cuStreamSynchronize(stream))
    ok(driver.cuMemPoolDestroy(pool))


def import_pool():
    start()
    kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    pool = ok(driver.cuMemPoolImportFromShareableHandle(int(sys.argv[2]), kind, 0))
    access = driver.CUmemAccessDesc()
    access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = 0
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    ok(driver.cuMemPoolSetAccess(pool, [access], 1))
    exported = driver.CUmemPoolPtrExportData()
    exported.reserved = bytes.fromhex(sys.argv[3])
    address = ok(driver.cuMemPoolImportPointer(pool, exported))
    data = read(address)
    assert (data == pattern(8)).all(), "the importer reads something else"
    ok(driver.cuMemcpyHtoD(address, np.ascontiguousarray(data[::-1]), SIZE))
    ok(driver.cuMemFree(address))
    ok(driver.cuMemPoolDestroy(pool))


def hold():
    """Holds the MiB that are asked for until standard input ends: what the NVML tools look at."""
    start()
    ok(driver.cuMemAlloc(int(sys.argv[2]) * MIB))
    print("holding", flush=True)
    sys.stdin.read()


CASES = [linear, streams_and_events, host_and_managed, pools, virtual_memory, ipc, pool_ipc]
ROLES = [import_descriptor, open_handle, import_pool, hold]

if __name__ == "__main__":
    {function.__name__: function for function in CASES + ROLES}[sys.argv[1]]()
