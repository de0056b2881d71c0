"""Every method of NVIDIA's tritonclient over HTTP, sync and asyncio, against the server that the first argument names.

The second argument is the file of an ONNX model that can be put under another name. Prints what came, as JSON: for `sync` and `aio` what is told below.
"""

import asyncio
import inspect
import json
import sys
import urllib.request
from importlib.metadata import version

import numpy as np
import tritonclient.http as sync
import tritonclient.http.aio as aio
from tritonclient.http.auth import BasicAuth
from tritonclient_values import arrays, as_json, error_of, floats, model_of, same

url, model_file = sys.argv[1:]


class Caller:
    """A client whose methods are noted when they are called; those of asyncio are waited for."""

    def __init__(self, module, loop):
        self.module = module
        self.called = set()
        self.loop = loop
        self.client = self.made() if loop is None else self.waited(self.begun())

    def made(self):
        return self.module.InferenceServerClient(url, concurrency=4)

    async def begun(self):
        return self.module.InferenceServerClient(url)

    def waited(self, value):
        return self.loop.run_until_complete(value) if inspect.isawaitable(value) else value

    def __getattr__(self, name):
        method = getattr(self.client, name)

        def call(*args, **named):
            self.called.add(name)
            return self.waited(method(*args, **named))

        return call

    def input(self, array, datatype="FP32", binary=True, name="INPUT0"):
        given = self.module.InferInput(name, list(array.shape), datatype)
        return given.set_data_from_numpy(array, binary_data=binary)

    def output(self, name="OUTPUT0", **named):
        return self.module.InferRequestedOutput(name, **named)

    def all_of(self, model, many):
        """As many requests at one time, each by the way that the client has for that."""
        if self.loop is None:
            pending = [self.async_infer(model, [self.input(floats)]) for _ in range(many)]
            return [each.get_result() for each in pending]

        async def gathered():
            return await asyncio.gather(*(self.client.infer(model, [self.input(floats)]) for _ in range(many)))

        return self.waited(gathered())

    def methods(self):
        names = {name for name, _ in inspect.getmembers(self.module.InferenceServerClient, callable) if not name.startswith("_")}
        return sorted(names), sorted(self.called)


def facts(client):
    """What the server says of itself and of its models."""
    return {
        "is_server_live": client.is_server_live(),
        "is_server_ready": client.is_server_ready(),
        "is_model_ready": client.is_model_ready("ident_fp32"),
        "is_model_ready, version": client.is_model_ready("ident_fp32", "1"),
        "is_model_ready, none such": client.is_model_ready("nothing"),
        "get_server_metadata": client.get_server_metadata(query_params={"a": [1, "b c"]}),
        "get_model_metadata": client.get_model_metadata("ident_fp32"),
        "get_model_config": client.get_model_config("ident_fp32", "1"),
        "get_model_repository_index": client.get_model_repository_index(),
        "get_inference_statistics": client.get_inference_statistics("ident_fp32"),
        "get_inference_statistics, all": len(client.get_inference_statistics()["model_stats"]),
    }


def control(client):
    """Models come and go, with a config and files of the client's."""
    with open(model_file, "rb") as file:
        files = {"file:1/model.onnx": file.read()}
    config = json.dumps({"backend": "onnxruntime", "max_batch_size": 4})
    seen = {}
    client.unload_model("ident_bool")
    seen["unload_model"] = client.is_model_ready("ident_bool")
    client.load_model("ident_bool")
    seen["load_model"] = client.is_model_ready("ident_bool")
    client.load_model("ident_fp32", config=config)
    seen["load_model, config"] = client.get_model_config("ident_fp32")["max_batch_size"]
    client.load_model("ident_fp32")
    seen["load_model, the repository's again"] = client.get_model_config("ident_fp32")["max_batch_size"]
    client.load_model("brought", config=config, files=files)
    seen["load_model, files"] = same(client.infer("brought", [client.input(floats)]), floats)
    client.unload_model("brought", unload_dependents=True)
    seen["unload_model, unload_dependents"] = client.is_model_ready("brought")
    return seen


def inference(client):
    """Each is true where what was sent came back."""
    results = {}
    for datatype, array in arrays.items():
        results[f"{datatype} binary"] = same(client.infer(model_of(datatype), [client.input(array, datatype)]), array)
    for datatype, array in as_json.items():
        wanted = [client.output(binary_data=False)]
        results[f"{datatype} JSON"] = same(client.infer(model_of(datatype), [client.input(array, datatype, False)], outputs=wanted), array)
    for datatype in ("UINT64", "INT64"):
        wanted = [client.output(binary_data=False)]
        answer = client.infer(model_of(datatype), [client.input(arrays[datatype], datatype)], outputs=wanted)
        results[f"{datatype} as JSON with all digits"] = same(answer, arrays[datatype])
    for sent in ("gzip", "deflate", None):
        for wanted in ("gzip", "deflate", None):
            encodings = {"request_compression_algorithm": sent, "response_compression_algorithm": wanted}
            results[f"{sent} there, {wanted} back"] = same(client.infer("ident_fp32", [client.input(floats)], **encodings), floats)
    return results | with_parameters(client) | {
        "many at one time": all(same(each, floats) for each in client.all_of("ident_fp32", 32)),
        "by hand": by_hand(client, None),
        "by hand, compressed": by_hand(client, "gzip"),
    }


def with_parameters(client):
    sent = [client.input(floats)]
    answer = client.infer("ident_fp32", sent, request_id="7", model_version="1")
    own = {"text": "x", "number": 1, "truth": True}
    return {
        "id": answer.get_response()["id"] == "7" and answer.get_output("OUTPUT0")["shape"] == [2, 3],
        "priority": same(client.infer("ranked", sent, priority=2), floats),
        # of a model without sequences, and a priority beyond the last: taken, as Triton does
        "sequence": same(client.infer("ident_fp32", sent, sequence_id=7, sequence_start=True), floats),
        "sequence with a name": same(client.infer("ident_fp32", sent, sequence_id="seven", sequence_end=True), floats),
        "priority that is not there": same(client.infer("ranked", sent, priority=9), floats),
        "timeout that does not pass": same(client.infer("ranked", sent, timeout=600_000_000), floats),
        "parameters": same(client.infer("ident_fp32", sent, parameters=own, headers={"x-any": "1"}), floats),
        "classes": client.infer("cls", [client.input(np.array([[0.1, 0.7, 0.2, 0.0]], np.float32))], outputs=[client.output(class_count=2)])
        .as_numpy("OUTPUT0")
        .flatten()
        .tolist()
        == [b"0.700000:1:pickle", b"0.200000:2:banana"],
    }


def by_hand(client, encoding):
    """A body that the client makes, sent by somebody else, and the answer's, which the client reads."""
    body, head = client.generate_request_body([client.input(floats)])
    headers = {"Inference-Header-Content-Length": str(head)} | ({"Accept-Encoding": encoding} if encoding else {})
    request = urllib.request.Request(f"http://{url}/v2/models/ident_fp32/infer", body, headers)
    with urllib.request.urlopen(request) as response:
        got = response.headers
        length = int(got["Inference-Header-Content-Length"])
        if got["Content-Encoding"] != encoding:
            return False
        return same(client.parse_response_body(response.read(), header_length=length, content_encoding=encoding), floats)


def with_plugin(client):
    """The server wants a header for its log settings and traces, which a plugin brings with every request."""
    seen = {"without": error_of(lambda: client.get_log_settings())}
    client.register_plugin(BasicAuth("user", "word"))
    seen["plugin"] = type(client.plugin()).__name__
    seen["with"] = error_of(lambda: client.get_log_settings())
    client.unregister_plugin()
    seen["again without"] = error_of(lambda: client.get_log_settings())
    seen["by headers"] = error_of(lambda: client.get_log_settings(headers={"authorization": "Basic dXNlcjp3b3Jk"}))
    return seen


def absent(client):
    """Methods whose endpoints are not there."""
    calls = {
        "get_system_shared_memory_status": (),
        "register_system_shared_memory": ("region", "/key", 64),
        "unregister_system_shared_memory": ("region",),
        "get_cuda_shared_memory_status": ("region",),
        "register_cuda_shared_memory": ("region", b"aGFuZGxl", 0, 64),
        "unregister_cuda_shared_memory": (),
        "get_trace_settings": (),
        "update_trace_settings": ("ident_fp32", {"trace_level": ["TIMESTAMPS"]}),
        "update_log_settings": ({"log_verbose_level": 1},),
    }
    headers = {"authorization": "Basic dXNlcjp3b3Jk"}
    return {name: error_of(lambda: getattr(client, name)(*args, headers=headers)) for name, args in calls.items()}


def errors(client):
    good = client.input(floats)
    region = client.module.InferInput("INPUT0", [2, 3], "FP32").set_shared_memory("region", 24)
    into_region = client.output()
    into_region.set_shared_memory("region", 24)
    words = client.input(np.array([[b"word"]], np.object_), "BYTES")
    calls = {
        "unknown model": lambda: client.infer("nothing", [good]),
        "unknown version": lambda: client.infer("ident_fp32", [good], model_version="9"),
        "unknown input": lambda: client.infer("ident_fp32", [client.input(floats, name="OTHER")]),
        "wrong type": lambda: client.infer("ident_fp32", [client.input(floats.astype(np.int64), "INT64")]),
        "words": lambda: client.infer("ident_fp32", [words]),
        "too many rows": lambda: client.infer("ident_fp32", [client.input(np.zeros((9, 2), np.float32))]),
        "unknown output": lambda: client.infer("ident_fp32", [good], outputs=[client.output("OTHER")]),
        "beyond 2^53 in JSON": lambda: client.infer("ident_int64", [client.input(arrays["INT64"], "INT64", False)]),
        "FP16 in JSON": lambda: client.infer("ident_fp16", [client.input(arrays["FP16"], "FP16", False)]),
        "BF16 wanted as JSON": lambda: client.infer("ident_bf16", [client.input(arrays["BF16"], "BF16")], outputs=[client.output(binary_data=False)]),
        "timeout": lambda: client.infer("held", [good], timeout=1000),
        "input in shared memory": lambda: client.infer("ident_fp32", [region]),
        "output into shared memory": lambda: client.infer("ident_fp32", [good], outputs=[into_region]),
        "load of nothing": lambda: client.load_model("nothing"),
        "load with a file beyond the folder": lambda: client.load_model("x", config="{}", files={"file:../model.onnx": b"x"}),
        "unload of nothing": lambda: client.unload_model("nothing"),
        "metadata of nothing": lambda: client.get_model_metadata("nothing"),
        "config of nothing": lambda: client.get_model_config("nothing"),
        "statistics of nothing": lambda: client.get_inference_statistics("nothing"),
    }
    return {name: error_of(call) for name, call in calls.items()}


def ask(client):
    parts = {part.__name__: part(client) for part in (inference, facts, control, with_plugin, absent, errors)}
    client.close()
    parts["methods"], parts["called"] = client.methods()
    return parts


loop = asyncio.new_event_loop()
print(json.dumps({"version": version("tritonclient"), "sync": ask(Caller(sync, None)), "aio": ask(Caller(aio, loop))}))
