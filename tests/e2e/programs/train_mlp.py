# SPDX-License-Identifier: Apache-2.0
"""An ordinary tinygrad training: knows nothing of cupool. Prints each step's loss, exactly.

train_mlp.py [--steps N] [--optimizer adam|sgd]; DEV=CUDA in the environment chooses the GPU.
"""
import argparse

import numpy as np
from tinygrad import Context, Tensor, nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--optimizer", default="adam", choices=["adam", "sgd"])
options = parser.parse_args()

Tensor.manual_seed(1)
random = np.random.default_rng(0)
inputs = random.standard_normal((256, 64)).astype(np.float32)
labels = (inputs[:, 0] * inputs[:, 1] > 0).astype(np.int32)


class Net:
    def __init__(self):
        self.first, self.second = nn.Linear(64, 128), nn.Linear(128, 2)

    def __call__(self, x):
        return self.second(self.first(x).relu())


net = Net()
parameters = nn.state.get_parameters(net)
optimizer = nn.optim.Adam(parameters, lr=1e-2) if options.optimizer == "adam" else nn.optim.SGD(parameters, lr=0.3)
x, y = Tensor(inputs), Tensor(labels)
with Context(TRAINING=1):
    for step in range(options.steps):
        optimizer.zero_grad()
        loss = net(x).sparse_categorical_crossentropy(y)
        loss.backward()
        optimizer.step()
        value = float(loss.item())
        print(f"step {step:3d}  loss {value:.6f}  {value.hex()}", flush=True)
