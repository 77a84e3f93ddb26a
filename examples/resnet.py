"""A training script as people write it: ResNet-50, random data, a progress line now and then."""
import sys
import torch
import torchvision
torch.manual_seed(0)
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
def batches(n):
    for _ in range(n):
        yield torch.randn(32, 3, 224, 224), torch.randint(0, 1000, (32,))
def train_step(model, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
def main():
    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    pool = list(batches(4))
    total = 0.0
    for step in range(STEPS):
        x, y = pool[step % 4]
        x = x.cuda().to(memory_format=torch.channels_last)
        loss = train_step(model, optimizer, x, y.cuda())
        total += loss.item()
    print(f"{STEPS} steps, loss {total / STEPS:.3f}")
main()
