# SPDX-License-Identifier: Apache-2.0
"""Steps of training on the processor: torch_step.py COUNT. A small network with attention, Adam."""
import sys
import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(256, 512)
        self.attention = torch.nn.MultiheadAttention(512, 4, batch_first=True)
        self.last = torch.nn.Linear(512, 10)

    def forward(self, x):
        h = torch.relu(self.first(x))
        h, _ = self.attention(h, h, h)
        return self.last(h.mean(1))


def step(net, optimizer, x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def main(steps):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    x, y = torch.randn(2, 32, 256), torch.randint(10, (2,))
    for _ in range(steps):
        loss = step(net, optimizer, x, y)
    print(loss)


main(int(sys.argv[1]))
