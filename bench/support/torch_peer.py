"""torch on a GPU: the peer of bench/int8.ts. Its models are those that test/gpu/export.py writes, with the same weights.

Says first what it is, a line of JSON; then, for each line { model, way, count }, the median milliseconds of so many inferences of a batch of one, from host to host, each synchronized.
`way`: eager, eager-fp16, torchscript, torchscript-fp16.
"""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test" / "gpu"))

import export  # noqa: E402
import torch  # noqa: E402

sizes = {"unet": 512, "resnet50": 224}
made = {}


def module_of(model, way):
    half = way.endswith("-fp16")
    module = export.with_random_weights(*((export.UNet(), 512) if model == "unet" else (export.resnet50(), 50))).cuda()
    module = module.half() if half else module
    if not way.startswith("torchscript"):
        return module
    example = torch.zeros(1, 3, sizes[model], sizes[model], device="cuda", dtype=torch.half if half else torch.float)
    return torch.jit.freeze(torch.jit.trace(module, example))


def measured(model, way, count):
    if (model, way) not in made:
        made[model, way] = module_of(model, way)
    module = made[model, way]
    x = torch.randn(1, 3, sizes[model], sizes[model]).pin_memory()
    dtype = torch.half if way.endswith("-fp16") else torch.float
    times = []
    for i in range(count + 10):  # the first ones warm up
        begun = time.perf_counter()
        module(x.to("cuda", dtype, non_blocking=True)).float().cpu()
        torch.cuda.synchronize()
        if i >= 10:
            times.append((time.perf_counter() - begun) * 1000)
    return sorted(times)[len(times) // 2]


def say(answer):
    print(json.dumps(answer), flush=True)


torch.set_grad_enabled(False)
torch.backends.cudnn.benchmark = True
say({"about": f"torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"})
for line in sys.stdin:
    try:
        say({"ms": measured(**json.loads(line))})
    except Exception as error:  # told to who asked
        say({"error": f"{type(error).__name__}: {error}"})
