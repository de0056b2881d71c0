"""Every method of NVIDIA's tritonclient over HTTP, sync and asyncio, against the server that the first argument names; prints what came, as JSON."""

import asyncio
import json
import sys

import numpy as np
import tritonclient.http as sync
import tritonclient.http.aio as aio
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

url = sys.argv[1]
out = {}


def error_of(error):
    return {"status": error.status(), "message": error.message()}


def tensor(module, name, array, datatype, binary=True):
    given = module.InferInput(name, list(array.shape), datatype)
    given.set_data_from_numpy(array, binary_data=binary)
    return given


arrays = {
    "ident": ("FP32", np.arange(6, dtype=np.float32).reshape(2, 3) / 4),
    "ident_int64": ("INT64", np.array([[-(2**62), 2**62, 7]], dtype=np.int64)),
    "ident_fp16": ("FP16", np.array([[1.5, -2, 65504]], dtype=np.float16)),
    "ident_uint8": ("UINT8", np.array([[0, 1, 255]], dtype=np.uint8)),
    "ident_bool": ("BOOL", np.array([[True, False, True]])),
    "ident_fp64": ("FP64", np.array([[0.1, -1e300]], dtype=np.float64)),
}

methods = {
    "is_server_live": (),
    "is_server_ready": (),
    "is_model_ready": ("ident",),
    "get_server_metadata": (),
    "get_model_metadata": ("ident",),
    "get_model_config": ("ident",),
    "get_model_repository_index": (),
    "get_inference_statistics": ("ident",),
    "unload_model": ("ident_bool",),
    "load_model": ("ident_bool",),
}
absent = {
    "get_system_shared_memory_status": (),
    "register_system_shared_memory": ("region", "/key", 64),
    "unregister_system_shared_memory": (),
    "get_cuda_shared_memory_status": (),
    "unregister_cuda_shared_memory": (),
    "get_trace_settings": (),
    "update_trace_settings": ("ident", {"trace_level": ["TIMESTAMPS"]}),
    "get_log_settings": (),
    "update_log_settings": ({"log_verbose_level": 1},),
}


def infer_sync(client):
    results = {}
    for model, (datatype, array) in arrays.items():
        for binary in (True, False):
            if datatype == "FP16" and not binary:
                continue
            wanted = sync.InferRequestedOutput("OUTPUT0", binary_data=binary)
            answer = client.infer(model, [tensor(sync, "INPUT0", array, datatype, binary)], outputs=[wanted], request_id="7")
            same = answer.as_numpy("OUTPUT0")
            results[f"{model} {'binary' if binary else 'JSON'}"] = bool(same.dtype == array.dtype and np.array_equal(same, array))
    for algorithm in ("gzip", "deflate"):
        datatype, array = arrays["ident"]
        answer = client.infer(
            "ident",
            [tensor(sync, "INPUT0", array, datatype)],
            request_compression_algorithm=algorithm,
            response_compression_algorithm=algorithm,
        )
        results[algorithm] = bool(np.array_equal(answer.as_numpy("OUTPUT0"), array))
    scores = np.array([[0.1, 0.7, 0.2, 0.0]], dtype=np.float32)
    wanted = sync.InferRequestedOutput("OUTPUT0", class_count=2)
    classes = client.infer("cls", [tensor(sync, "INPUT0", scores, "FP32")], outputs=[wanted]).as_numpy("OUTPUT0")
    results["classes"] = [text.decode() for text in classes.flatten()]
    pending = [client.async_infer("ident", [tensor(sync, "INPUT0", arrays["ident"][1], "FP32")]) for _ in range(16)]
    results["async_infer"] = all(np.array_equal(each.get_result().as_numpy("OUTPUT0"), arrays["ident"][1]) for each in pending)
    body, size = sync.InferenceServerClient.generate_request_body([tensor(sync, "INPUT0", arrays["ident"][1], "FP32")])
    results["generate_request_body"] = [len(body) > size, size]
    return results


with sync.InferenceServerClient(url, concurrency=4) as client:
    out["sync"] = {name: getattr(client, name)(*args) for name, args in methods.items()}
    out["infer"] = infer_sync(client)
    out["absent"] = {}
    for name, args in absent.items():
        try:
            out["absent"][name] = getattr(client, name)(*args)
        except InferenceServerException as error:
            out["absent"][name] = error_of(error)
    out["errors"] = {}
    datatype, array = arrays["ident"]
    good = tensor(sync, "INPUT0", array, datatype)
    for name, call in {
        "unknown model": lambda: client.infer("nothing", [good]),
        "unknown version": lambda: client.infer("ident", [good], model_version="9"),
        "unknown input": lambda: client.infer("ident", [tensor(sync, "OTHER", array, datatype)]),
        "wrong type": lambda: client.infer("ident", [tensor(sync, "INPUT0", array.astype(np.int64), "INT64")]),
        "too many rows": lambda: client.infer("ident", [tensor(sync, "INPUT0", np.zeros((9, 2), np.float32), "FP32")]),
        "unknown output": lambda: client.infer("ident", [good], outputs=[sync.InferRequestedOutput("OTHER")]),
        "load of nothing": lambda: client.load_model("nothing"),
        "metadata of nothing": lambda: client.get_model_metadata("nothing"),
    }.items():
        try:
            call()
            out["errors"][name] = None
        except InferenceServerException as error:
            out["errors"][name] = error_of(error)


async def with_aio():
    async with aio.InferenceServerClient(url) as client:
        out["aio"] = {name: await getattr(client, name)(*args) for name, args in methods.items()}
        results = out["aio infer"] = {}
        for model, (datatype, array) in arrays.items():
            answer = await client.infer(model, [tensor(aio, "INPUT0", array, datatype)])
            results[model] = bool(np.array_equal(answer.as_numpy("OUTPUT0"), array))
        many = await asyncio.gather(*(client.infer("ident", [tensor(aio, "INPUT0", arrays["ident"][1], "FP32")]) for _ in range(32)))
        results["gather"] = all(np.array_equal(each.as_numpy("OUTPUT0"), arrays["ident"][1]) for each in many)


asyncio.run(with_aio())
print(json.dumps(out))
