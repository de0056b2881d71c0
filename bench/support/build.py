"""Builds ONNX files with NVIDIA's own Python bindings: the peer of bench/builder.ts.

Needs the package `tensorrt_rtx_bindings` on the module path and its libraries on LD_LIBRARY_PATH (scripts/bench.mjs sees to both).
Says first what it is, a line of JSON; then, for each line { model, shapes: { input: { min, opt, max } } }, what it built and how long it took.
"""

import json
import sys
import time

import tensorrt_rtx_bindings as trt

logger = trt.Logger()  # warnings and worse, its default


def read_back(config):
    return {
        "workspace": config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE),
        "optimizationLevel": config.builder_optimization_level,
        "tf32": config.get_flag(trt.BuilderFlag.TF32),
        "auxiliaryStreams": config.max_aux_streams,
        "averageTiming": config.avg_timing_iterations,
    }


def build(model, shapes):
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(model):
        raise RuntimeError(parser.get_error(0).desc())
    config = builder.create_builder_config()
    if any(-1 in network.get_input(i).shape for i in range(network.num_inputs)):
        profile = builder.create_optimization_profile()
        for name, given in shapes.items():
            profile.set_shape(name, given["min"], given["opt"], given["max"])
        config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise RuntimeError("no plan")
    return plan, network.num_layers, read_back(config)


def answer(model, shapes):
    begun = time.perf_counter()
    plan, layers, settings = build(model, shapes)
    milliseconds = (time.perf_counter() - begun) * 1000
    return {"ms": milliseconds, "bytes": plan.nbytes, "layers": layers, "settings": settings, "version": trt.__version__}


def say(value):
    print(json.dumps(value), flush=True)


say({"about": f"NVIDIA's bindings {trt.__version__}, Python {sys.version.split()[0]}"})
for line in sys.stdin:
    try:
        say(answer(**json.loads(line)))
    except Exception as error:  # told to the bench, which fails
        say({"error": f"{type(error).__name__}: {error}"})
