"""python3 export.py FOLDER: a UNet and ResNet-50 of torch as unet.onnx and resnet50.onnx: input x [N, 3, H, W], output y.

The weights are random, the same each time for one version of torch, and of a scale at which FP16 computes well.
Exit status 69, with the reason as the last line of stderr: this Python has no torch that exports ONNX.
"""

import inspect
import pathlib
import sys

try:
    import onnx  # noqa: F401 (torch needs it, and finds that out late)
    import torch
    import torch.onnx
    from torch import nn
except (ImportError, OSError) as error:
    print(f"python3 has no torch that exports ONNX: {error}", file=sys.stderr)
    sys.exit(69)


def convolution(inputs, outputs, size, stride=1):
    return [nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs)]


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * 4
        self.inner = nn.Sequential(
            *convolution(inputs, width, 1),
            nn.ReLU(),
            *convolution(width, width, 3, stride),
            nn.ReLU(),
            *convolution(width, outputs, 1),
        )
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else nn.Sequential(*convolution(inputs, outputs, 1, stride))

    def forward(self, x):
        return torch.relu(self.inner(x) + self.shortcut(x))


def resnet50():
    layers = [*convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
            channels = width * 4
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def two_convolutions(inputs, outputs):
    return nn.Sequential(*convolution(inputs, outputs, 3), nn.ReLU(), *convolution(outputs, outputs, 3), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512), bottom=1024):
        super().__init__()
        self.down = nn.ModuleList(two_convolutions(*pair) for pair in zip((3, *widths), widths))
        self.bottom = two_convolutions(widths[-1], bottom)
        self.up = nn.ModuleList(nn.ConvTranspose2d(width * 2, width, 2, 2) for width in reversed(widths))
        self.joined = nn.ModuleList(two_convolutions(width * 2, width) for width in reversed(widths))
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        skips = []
        for down in self.down:
            x = down(x)
            skips.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.bottom(x)
        for up, joined in zip(self.up, self.joined):
            x = joined(torch.cat([skips.pop(), up(x)], 1))
        return self.head(x)


def with_random_weights(model, seed):
    """What comes out of each layer is about as large as what goes in, and of a residual block as the shortcut."""
    torch.manual_seed(seed)
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            # how many products make up a number: of a transposed convolution whose stride is its size, the channels
            products = module.in_features if isinstance(module, nn.Linear) else module.in_channels
            if isinstance(module, nn.Conv2d):
                products *= module.kernel_size[0] ** 2
            nn.init.normal_(module.weight, std=(2 / products) ** 0.5)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=0.05)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.8, 1.2)
            nn.init.uniform_(module.weight, 0.8, 1.2)
            nn.init.normal_(module.bias, std=0.1)
    for module in model.modules():
        if isinstance(module, Bottleneck):
            nn.init.uniform_(module.inner[-1].weight, 0.2, 0.4)
    return model.eval()


def export(model, path, size):
    # the exporter that needs neither onnxscript nor files for weights, where torch has two
    choice = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    batch = {"x": {0: "N"}, "y": {0: "N"}}
    torch.onnx.export(
        model,
        (torch.zeros(1, 3, size, size),),
        str(path),
        input_names=["x"],
        output_names=["y"],
        opset_version=17,
        dynamic_axes=batch,
        **choice,
    )


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    with torch.no_grad():
        export(with_random_weights(UNet(), 512), folder / "unet.onnx", 512)
        export(with_random_weights(resnet50(), 50), folder / "resnet50.onnx", 224)
