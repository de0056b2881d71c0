"""Every method of NVIDIA's tritonclient over gRPC, sync and asyncio, against the server that the first argument names.

The second argument is the file of an ONNX model that can be put under another name. Prints what came, as JSON: for `sync` and `aio` what is told below.
"""

import asyncio
import inspect
import json
import queue
import sys
from importlib.metadata import version

import numpy as np
import tritonclient.grpc as sync
import tritonclient.grpc.aio as aio
from tritonclient.grpc.auth import BasicAuth
from tritonclient_values import arrays, error_of, floats, model_of, same

url, model_file = sys.argv[1:]
large = np.arange(2**21, dtype=np.float32).reshape(8, -1)  # 8 MiB: more than gRPC takes unless it is told to


class Caller:
    """A client whose methods are noted when they are called; those of asyncio are waited for."""

    def __init__(self, module, loop):
        self.module = module
        self.called = set()
        self.loop = loop
        self.client = self.made() if loop is None else self.waited(self.begun())

    def made(self):
        return self.module.InferenceServerClient(url, keepalive_options=sync.KeepAliveOptions(keepalive_time_ms=60_000))

    async def begun(self):
        return self.made()

    def waited(self, value):
        return self.loop.run_until_complete(value) if inspect.isawaitable(value) else value

    def __getattr__(self, name):
        method = getattr(self.client, name)

        def call(*args, **named):
            self.called.add(name)
            return self.waited(method(*args, **named))

        return call

    def input(self, array, datatype="FP32", name="INPUT0"):
        return self.module.InferInput(name, list(array.shape), datatype).set_data_from_numpy(array)

    def output(self, name="OUTPUT0", **named):
        return self.module.InferRequestedOutput(name, **named)

    def all_of(self, model, many):
        """As many requests at one time on one connection."""
        if self.loop is None:
            came = queue.Queue()
            for _ in range(many):
                self.async_infer(model, [self.input(floats)], lambda result, error: came.put(error or result))
            return [came.get(timeout=60) for _ in range(many)]

        async def gathered():
            return await asyncio.gather(*(self.client.infer(model, [self.input(floats)]) for _ in range(many)))

        return self.waited(gathered())

    def streamed(self, requests, stream={}):
        """What a stream gives for these requests, in its order: results and errors."""
        if self.loop is None:
            came = queue.Queue()
            self.start_stream(lambda result, error: came.put((result, error)), **stream)
            for request in requests:
                self.async_stream_infer(**request)
            self.stop_stream()
            return list(came.queue)
        self.called.add("stream_infer")

        async def each():
            for request in requests:
                yield request

        async def gathered():
            return [pair async for pair in self.client.stream_infer(each(), **stream)]

        return self.waited(gathered())

    def left(self, model):
        """What a client is told of a request that it gives up."""
        if self.loop is None:
            came = queue.Queue()
            call = self.async_infer(model, [self.input(floats)], lambda result, error: came.put(error))
            call.cancel()
            return came.get(timeout=60).status()

        async def cancelled():
            task = asyncio.ensure_future(self.client.infer(model, [self.input(floats)]))
            await asyncio.sleep(0.05)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                return "StatusCode.CANCELLED"

        return self.waited(cancelled())

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
        "get_server_metadata": client.get_server_metadata(as_json=True),
        "get_model_metadata": client.get_model_metadata("ident_fp32", as_json=True),
        "get_model_config": client.get_model_config("ident_fp32", "1", as_json=True)["config"],
        "get_model_repository_index": client.get_model_repository_index(as_json=True)["models"],
        "get_inference_statistics": client.get_inference_statistics("ident_fp32", as_json=True),
        "get_inference_statistics, all": len(client.get_inference_statistics().model_stats),
    }


def control(client):
    """Models come and go, with a config and files of the client's."""
    with open(model_file, "rb") as file:
        files = {"file:1/model.onnx": file.read()}
    tensor = {"data_type": "TYPE_FP32", "dims": [-1]}
    tensors = {"input": [{"name": "INPUT0"} | tensor], "output": [{"name": "OUTPUT0"} | tensor]}
    config = json.dumps({"backend": "onnxruntime", "max_batch_size": 4} | tensors)
    seen = {}
    client.unload_model("ident_bool")
    seen["unload_model"] = client.is_model_ready("ident_bool")
    client.load_model("ident_bool")
    seen["load_model"] = client.is_model_ready("ident_bool")
    client.load_model("ident_fp32", config=config)
    seen["load_model, config"] = client.get_model_config("ident_fp32").config.max_batch_size
    client.load_model("ident_fp32")
    seen["load_model, the repository's again"] = client.get_model_config("ident_fp32").config.max_batch_size
    client.load_model("brought", config=config, files=files)
    seen["load_model, files"] = same(client.infer("brought", [client.input(floats)]), floats)
    client.unload_model("brought", unload_dependents=True)
    seen["unload_model, unload_dependents"] = client.is_model_ready("brought")
    return seen


def inference(client):
    """Each is true where what was sent came back."""
    results = {}
    for datatype, array in arrays.items():
        results[datatype] = same(client.infer(model_of(datatype), [client.input(array, datatype)]), array)
    for algorithm in ("gzip", "deflate", None):
        results[f"{algorithm}"] = same(client.infer("ident_fp32", [client.input(floats)], compression_algorithm=algorithm), floats)
    return results | with_parameters(client) | {
        "many at one time": all(same(each, floats) for each in client.all_of("ident_fp32", 64)),
        "8 MiB": same(client.infer("ident_fp32", [client.input(large)]), large),
        "no rows of a size": same(client.infer("ident_fp32", [client.input(np.zeros((1, 0), np.float32))]), np.zeros((1, 0), np.float32)),
    }


def with_parameters(client):
    sent = [client.input(floats)]
    answer = client.infer("ident_fp32", sent, request_id="7", model_version="1")
    classes = client.infer("cls", [client.input(np.array([[1, 4, 3, 2]], np.float32))], outputs=[client.output(class_count=2)])
    own = {"text": "x", "number": 1, "truth": True}
    return {
        "id": answer.get_response().id == "7" and list(answer.get_output("OUTPUT0").shape) == [2, 3],
        "as JSON": answer.get_response(as_json=True)["model_name"] == "ident_fp32",
        "wanted": same(client.infer("ident_fp32", sent, outputs=[client.output()]), floats),
        "classification": classes.as_numpy("OUTPUT0").tolist() == [[b"4.000000:1:pickle", b"3.000000:2:banana"]],
        "priority": same(client.infer("ranked", sent, priority=2), floats),
        "sequence": same(client.infer("ident_fp32", sent, sequence_id=7, sequence_start=True), floats),
        "sequence with a name": same(client.infer("ident_fp32", sent, sequence_id="seven", sequence_end=True), floats),
        "timeout that does not pass": same(client.infer("ranked", sent, timeout=600_000_000), floats),
        "client_timeout that does not pass": same(client.infer("ident_fp32", sent, client_timeout=600), floats),
        "parameters": same(client.infer("ident_fp32", sent, parameters=own), floats),
        "headers": same(client.infer("ident_fp32", sent, headers={"x-own": "1"}), floats),
    }


def streams(client):
    """What streams tell: ids and whether each array came back, or the text of what failed."""

    def request(id, model="ident_fp32", array=floats, **more):
        return {"model_name": model, "inputs": [client.input(array)], "request_id": id, **more}

    def told(result, error):
        if error is not None:
            return {"message": error.message(), "status": error.status()}
        response = result.get_response()
        last = response.parameters["triton_final_response"].bool_param
        return {"id": response.id, "same": bool(response.outputs) and same(result, floats), "last": last}

    def all_told(requests, **stream):
        return sorted((told(*pair) for pair in client.streamed(requests, stream)), key=str)

    return {
        "three": all_told([request("1"), request("2"), request("3")]),
        "a failure among others": all_told([request("1"), request("2", "nothing"), request("3")]),
        "a wrong shape": all_told([request("1", array=np.zeros((9, 2), np.float32)), request("2")]),
        "with a last answer": all_told([request("1", enable_empty_final_response=True)]),
        "a hundred": len([each for each in all_told([request(str(i)) for i in range(100)]) if each.get("same")]),
        "compressed": all_told([request("1")], compression_algorithm="gzip"),
        "with a timeout": all_told([request("1")], stream_timeout=600),
        "none": all_told([]),
    }


def with_plugin(client):
    seen = {}
    client.register_plugin(BasicAuth("user", "word"))
    seen["plugin"] = type(client.plugin()).__name__
    seen["with"] = same(client.infer("ident_fp32", [client.input(floats)]), floats)
    client.unregister_plugin()
    seen["after"] = client.plugin() is None
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
        "get_log_settings": (),
        "update_log_settings": ({"log_verbose_level": 1},),
    }
    return {name: error_of(lambda: getattr(client, name)(*args)) for name, args in calls.items()}


def errors(client):
    good = client.input(floats)
    region = client.module.InferInput("INPUT0", [2, 3], "FP32").set_shared_memory("region", 24)
    into_region = client.output()
    into_region.set_shared_memory("region", 24)
    words = client.input(np.array([[b"word"]], np.object_), "BYTES")
    calls = {
        "unknown model": lambda: client.infer("nothing", [good]),
        "unknown version": lambda: client.infer("ident_fp32", [good], model_version="9"),
        "version that is no number": lambda: client.infer("ident_fp32", [good], model_version="x"),
        "unknown input": lambda: client.infer("ident_fp32", [client.input(floats, name="OTHER")]),
        "no input": lambda: client.infer("ident_fp32", []),
        "wrong type": lambda: client.infer("ident_fp32", [client.input(floats.astype(np.int64), "INT64")]),
        "words": lambda: client.infer("ident_fp32", [words]),
        "too many rows": lambda: client.infer("ident_fp32", [client.input(np.zeros((9, 2), np.float32))]),
        "unknown output": lambda: client.infer("ident_fp32", [good], outputs=[client.output("OTHER")]),
        "timeout": lambda: client.infer("held", [good], timeout=1000),
        "client_timeout": lambda: client.infer("held", [good], client_timeout=0.05),
        "input in shared memory": lambda: client.infer("ident_fp32", [region]),
        "output into shared memory": lambda: client.infer("ident_fp32", [good], outputs=[into_region]),
        "load of nothing": lambda: client.load_model("nothing"),
        "load with a file beyond the folder": lambda: client.load_model("x", config="{}", files={"file:../model.onnx": b"x"}),
        "unload of nothing": lambda: client.unload_model("nothing"),
        "metadata of nothing": lambda: client.get_model_metadata("nothing"),
        "config of nothing": lambda: client.get_model_config("nothing"),
        "statistics of nothing": lambda: client.get_inference_statistics("nothing"),
    }
    return {name: error_of(call) for name, call in calls.items()} | {"cancelled": {"status": client.left("held")}}


def ask(client):
    parts = {part.__name__: part(client) for part in (inference, streams, facts, control, with_plugin, absent, errors)}
    client.close()
    parts["methods"], parts["called"] = client.methods()
    return parts


loop = asyncio.new_event_loop()
print(json.dumps({"version": version("tritonclient"), "sync": ask(Caller(sync, None)), "aio": ask(Caller(aio, loop))}))
