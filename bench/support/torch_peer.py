"""torch on a GPU: the peer of bench/gpu.ts. Arguments: an ONNX model with input x and output y, and x as raw float32.

Runs the nodes of the model with torch's own functions, so that both sides have the same layers and weights. Prints what
it is, then a line of JSON for each line that it reads:
{ way, ms } -> { ms, calls }: runs for that many milliseconds; the median latency from host to host;
{ way, output } -> {}: writes y as raw float32 to that path.
`way`: reference (FP32 on the GPU without TF32), eager, torchscript or compile, with -fp16 for half precision.
"""

import json
import sys
import time


def say(answer):
    print(json.dumps(answer), flush=True)


try:
    import numpy
    import onnx
    import torch
    from onnx import numpy_helper
    from torch.nn import functional
except (ImportError, OSError) as error:
    say({"error": f"no torch: {error}"})
    sys.exit(0)


def halves(pads):
    """ONNX's pads [top, left, bottom, right], which are symmetric in these models, as torch has them."""
    if pads[: len(pads) // 2] != pads[len(pads) // 2 :]:
        raise ValueError(f"Expected symmetric pads but received {pads}.")
    return pads[: len(pads) // 2]


OPERATORS = {
    "Conv": lambda a, x, w, b: functional.conv2d(x, w, b, a["strides"], halves(a["pads"]), groups=a["group"]),
    "ConvTranspose": lambda a, x, w, b: functional.conv_transpose2d(x, w, b, a["strides"]),
    "Relu": lambda a, x: functional.relu(x),
    "Clip": lambda a, x, low, high: functional.hardtanh(x, low, high),
    "MaxPool": lambda a, x: functional.max_pool2d(x, a["kernel_shape"], a["strides"], halves(a["pads"])),
    "Concat": lambda a, *x: torch.cat(x, a["axis"]),
    "Add": lambda a, x, y: x + y,
    "Resize": lambda a, x, _, s: functional.interpolate(x, scale_factor=s[2:], mode="bilinear", align_corners=False),
    "GlobalAveragePool": lambda a, x: functional.adaptive_avg_pool2d(x, 1),
    "Flatten": lambda a, x: torch.flatten(x, 1),
    "Gemm": lambda a, x, w, b: functional.linear(x, w, b),
}
# Their values are arguments of torch's functions, not tensors.
PLAIN = {"Clip": (1, 2), "Resize": (2,)}


class Network(torch.nn.Module):
    def __init__(self, graph):
        super().__init__()
        constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        plain = {node.input[i] for node in graph.node for i in PLAIN.get(node.op_type, ())}
        self.plain = {name: constants[name].tolist() for name in plain}
        self.weights = {name: f"constant_{i}" for i, name in enumerate(constants) if name not in plain}
        for name, attribute in self.weights.items():
            self.register_buffer(attribute, torch.from_numpy(numpy.array(constants[name])))
        self.steps = [
            (
                OPERATORS[node.op_type],
                {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute},
                list(node.input),
                node.output[0],
            )
            for node in graph.node
        ]

    def forward(self, x):
        values = {"x": x, "": None, **self.plain}
        values.update((name, getattr(self, attribute)) for name, attribute in self.weights.items())
        for operator, attributes, inputs, output in self.steps:
            values[output] = operator(attributes, *(values[name] for name in inputs))
        return values["y"]


class Peer:
    def __init__(self, model, data):
        self.graph = onnx.load(model).graph
        shape = [dim.dim_value for dim in self.graph.input[0].type.tensor_type.shape.dim]
        self.x = torch.from_numpy(numpy.fromfile(data, numpy.float32).reshape(shape))
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        if self.device == "cuda":
            self.x = self.x.pin_memory()
        self.networks = {}

    def network(self, way):
        dtype = torch.half if way.endswith("-fp16") else torch.float
        network = Network(self.graph).to(self.device, dtype).eval()
        if way.startswith("torchscript"):
            return torch.jit.freeze(torch.jit.trace(network, self.x.to(self.device, dtype)))
        return torch.compile(network) if way.startswith("compile") else network

    def run(self, way):
        if way not in self.networks:
            self.networks[way] = self.network(way)
        dtype = torch.half if way.endswith("-fp16") else torch.float
        y = self.networks[way](self.x.to(self.device, dtype, non_blocking=True)).float().cpu()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return y

    def output(self, way, path):
        torch.backends.cudnn.allow_tf32 = way != "reference"
        self.run(way).numpy().tofile(path)
        torch.backends.cudnn.allow_tf32 = True

    def measure(self, way, ms):
        times = []
        end = time.perf_counter() + ms / 1000
        while not times or time.perf_counter() < end:
            begun = time.perf_counter()
            self.run(way)
            times.append((time.perf_counter() - begun) * 1000)
        return {"ms": sorted(times)[len(times) // 2], "calls": len(times)}


def main():
    torch.set_grad_enabled(False)
    peer = Peer(*sys.argv[1:3])
    torch.backends.cudnn.benchmark = True
    versions = f"CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"
    say({"about": f"torch {torch.__version__}, {versions}, on {peer.device}"})
    for line in sys.stdin:
        try:
            question = json.loads(line)
            if "output" in question:
                peer.output(question["way"], question["output"])
                say({})
            else:
                say(peer.measure(question["way"], question["ms"]))
        except Exception as error:  # the row tells it
            say({"error": f"{type(error).__name__}: {error}"})


main()
