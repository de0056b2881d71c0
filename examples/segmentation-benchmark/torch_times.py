"""Times of a UNet with a ResNet-34 encoder in PyTorch, as JSON: eager, TorchScript, torch.compile.

The argument is a job: {"device": "cuda" or "cpu", "sizes": [...], "precisions": ["fp32", "fp16"], "warmUpMs": 500, "durationMs": 3000}
A time is that of one picture, from memory of the host (pinned, for a GPU) to its mask there, after a synchronization.
"""

import contextlib
import json
import sys
import time


def missing(why):
    print(json.dumps({"missing": why, "times": [], "failures": []}))
    sys.exit(0)


try:
    import torch
    from torch import nn
except ImportError as error:
    missing(f"that Python has no torch ({error})")


def convolution(inputs, outputs, kernel=3, stride=1, relu=True):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if relu else []))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.way = nn.Sequential(convolution(inputs, outputs, 3, stride), convolution(outputs, outputs, relu=False))
        same = stride == 1 and inputs == outputs
        self.around = nn.Identity() if same else convolution(inputs, outputs, 1, stride, relu=False)

    def forward(self, x):
        return torch.relu(self.way(x) + self.around(x))


class UNet(nn.Module):
    """As test/support/networks/unet.ts has it."""

    def __init__(self, classes=2):
        super().__init__()
        self.stem = convolution(3, 64, 7, 2)
        self.pool = nn.MaxPool2d(3, 2, 1)
        stages, inputs = [], 64
        for index, (channels, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
            parts = []
            for block in range(blocks):
                parts.append(Block(inputs, channels, 2 if index > 0 and block == 0 else 1))
                inputs = channels
            stages.append(nn.Sequential(*parts))
        self.stages = nn.ModuleList(stages)
        steps = []
        for outputs, skip in zip([256, 128, 64, 32, 16], [256, 128, 64, 64, 0]):
            steps.append(nn.Sequential(convolution(inputs + skip, outputs), convolution(outputs, outputs)))
            inputs = outputs
        self.steps = nn.ModuleList(steps)
        self.head = nn.Conv2d(16, classes, 3, padding=1)

    def forward(self, x):
        features = [self.stem(x)]
        x = self.pool(features[0])
        for stage in self.stages:
            x = stage(x)
            features.append(x)
        skips = features[:-1][::-1]
        for index, step in enumerate(self.steps):
            x = nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
            if index < len(skips):
                x = torch.cat([x, skips[index]], 1)
            x = step(x)
        return self.head(x)


def calls_for(milliseconds, least, call):
    times, end = [], time.perf_counter() + milliseconds / 1000
    while time.perf_counter() < end or len(times) < least:
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1000)
    return times


def times_of(job, mode, precision, size):
    dtype = torch.float16 if precision == "fp16" else torch.float32
    device = torch.device(job["device"])
    model = UNet().eval().to(device, dtype)
    picture = torch.rand(1, 3, size, size, dtype=dtype)
    if device.type == "cuda":
        picture = picture.pin_memory()
    if mode == "TorchScript":
        model = torch.jit.freeze(torch.jit.trace(model, picture.to(device)))
    if mode == "torch.compile":
        torch.compiler.reset()  # of another size it would make a graph for any
        model = torch.compile(model)

    def call():
        model(picture.to(device, non_blocking=True)).cpu()
        if device.type == "cuda":
            torch.cuda.synchronize()

    calls_for(job["warmUpMs"], 10, call)
    return calls_for(job["durationMs"], 10, call)


def processor():
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return "the CPU"


def main():
    job = json.loads(sys.argv[1])
    on_gpu = job["device"] == "cuda"
    if on_gpu and not torch.cuda.is_available():
        missing("torch sees no GPU")
    times, failures = [], []
    with torch.inference_mode():
        for mode in ["torch eager", "TorchScript", "torch.compile"]:
            for precision in job["precisions"]:
                for size in job["sizes"]:
                    try:
                        row = {"mode": mode, "precision": precision, "size": size}
                        times.append({**row, "ms": times_of(job, mode, precision, size)})
                    except Exception as error:  # one that cannot be had is told, the others are measured
                        failures.append(f"{mode}, {precision}, {size}: {str(error).splitlines()[0] if str(error) else error!r}")
    runtime = f"{torch.__version__} on {torch.cuda.get_device_name() if on_gpu else processor()}, {torch.get_num_threads()} threads of the host"
    print(json.dumps({"runtime": runtime, "times": times, "failures": failures}))


main()
