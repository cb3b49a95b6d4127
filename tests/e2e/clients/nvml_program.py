#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvml_program.py: what pynvml reads of every GPU, as one JSON object."""
import json

import pynvml

pynvml.nvmlInit()


def gpu(index):
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory, memory_v2 = pynvml.nvmlDeviceGetMemoryInfo(handle), pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    return {
        "name": pynvml.nvmlDeviceGetName(handle),
        "uuid": pynvml.nvmlDeviceGetUUID(handle),
        "v1": {"total": memory.total, "used": memory.used, "free": memory.free},
        "v2": {"total": memory_v2.total, "used": memory_v2.used, "free": memory_v2.free, "reserved": memory_v2.reserved},
        "processes": {process.pid: process.usedGpuMemory for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)},
        "utilisation": pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
    }


print(json.dumps({"driver": pynvml.nvmlSystemGetDriverVersion(), "gpus": [gpu(index) for index in range(pynvml.nvmlDeviceGetCount())]}))
pynvml.nvmlShutdown()
