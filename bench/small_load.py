"""Twelve small transformer blocks, eager, inference: the load *small* of gpu_load.py, and of imitation.py, which has a smaller one."""
import torch


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        each = width // self.heads
        q, k, v = (z.view(batch, length, self.heads, each).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        weights = (q @ k.transpose(-1, -2) / each ** .5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Small:
    def __init__(self, device, width=256, heads=8, length=32):
        self.model = torch.nn.Sequential(*[Block(width, heads) for _ in range(12)]).to(device)
        self.x = torch.randn(1, length, width, device=device)

    def step(self):
        with torch.no_grad():
            self.model(self.x)
