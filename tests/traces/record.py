# SPDX-License-Identifier: Apache-2.0
"""Records which storages a PyTorch program allocates and when they die, on the meta device: shapes without memory.

Works with PyTorch 1.13 (Debian's python3-torch). Every dispatched operation is watched; a storage is new when an output first shows it
and dead when its weak reference has expired. Deaths are looked for before each operation, so that an operation's output is allocated
while its inputs still live, as on a device. Not seen: workspaces and temporaries inside one kernel; model them with `workspace`.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten


class Recorder(TorchDispatchMode):
    """Use as a context manager; `events` is the trace: ("a", id, bytes) and ("f", id)."""

    def __init__(self):
        super().__init__()
        self.events = []
        self._live = {}  # storage implementation's address -> (weak reference, id)
        self._next = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.collect()
        out = func(*args, **(kwargs or {}))
        for value in tree_flatten(out)[0]:
            if isinstance(value, torch.Tensor):
                self.note(value)
        return out

    def note(self, tensor):
        storage = tensor.storage()._storage if hasattr(tensor.storage(), "_storage") else tensor.storage()
        address = storage._cdata
        if address in self._live:
            return
        size = storage.nbytes()
        if size == 0:
            return
        self._live[address] = (storage._weak_ref(), self._next)
        self.events.append(("a", self._next, size))
        self._next += 1

    def collect(self):
        dead = [a for a, (ref, _) in self._live.items() if torch.UntypedStorage._expired(ref)]
        for address in dead:
            ref, number = self._live.pop(address)
            torch.UntypedStorage._free_weak_ref(ref)
            self.events.append(("f", number))

    def workspace(self, size):
        """A temporary that a library takes for one operation: allocated and freed at once."""
        self.events.append(("a", self._next, size))
        self.events.append(("f", self._next))
        self._next += 1
