"""What KServe's own clients do, over REST and over gRPC, against the server whose two addresses are the arguments. Prints what came, as JSON."""

import asyncio
import json
import logging
import sys
from importlib.metadata import version

import grpc
import httpx
import numpy as np
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig
from kserve.inference_client import InferenceGRPCClient
from kserve.protocol.infer_type import RequestedOutput

rest_address, grpc_address = sys.argv[1:]
base = f"http://{rest_address}"
logging.disable(logging.CRITICAL)  # of errors, which are wanted here

arrays = {
    "BOOL": np.array([[True, False, True]]),
    "UINT8": np.array([[0, 1, 255]], np.uint8),
    "UINT16": np.array([[0, 1, 65535]], np.uint16),
    "UINT32": np.array([[0, 1, 2**32 - 1]], np.uint32),
    "UINT64": np.array([[0, 1, 2**53 - 1]], np.uint64),
    "INT8": np.array([[-128, 0, 127]], np.int8),
    "INT16": np.array([[-32768, 0, 32767]], np.int16),
    "INT32": np.array([[-(2**31), 0, 2**31 - 1]], np.int32),
    "INT64": np.array([[1 - 2**53, 0, 2**53 - 1]], np.int64),
    "FP16": np.array([[1.5, -2, 65504]], np.float16),
    "FP32": np.arange(6, dtype=np.float32).reshape(2, 3) / 4,
    "FP64": np.array([[0.1, -1e300]], np.float64),
}
floats = arrays["FP32"]


def request(datatype, array, model=None, binary=True, outputs=None, **more):
    given = InferInput("INPUT0", list(array.shape), datatype)
    given.set_data_from_numpy(array, binary_data=binary)
    return InferRequest(model or f"ident_{datatype.lower()}", [given], request_outputs=outputs, **more)


def same(answer, array):
    got = answer.outputs[0].as_numpy()
    return bool(got.dtype == array.dtype and got.shape == array.shape and got.tobytes() == array.tobytes())


async def refusal(awaited):
    try:
        return {"value": repr(await awaited)}
    except httpx.HTTPStatusError as error:
        return {"status": str(error.response.status_code), "message": error.response.text}
    except grpc.RpcError as error:
        return {"status": error.code().name, "message": error.details()}


async def rest():
    client = InferenceRESTClient(RESTConfig(protocol="v2", retries=0))

    async def infer(*args, **named):
        asked = request(*args, **named)
        return await client.infer(base, asked, model_name=asked.model_name)

    inference = {}
    for datatype, array in arrays.items():
        outputs = [RequestedOutput("OUTPUT0", {"binary_data": True})]
        inference[f"{datatype} binary"] = same(await infer(datatype, array, outputs=outputs), array)
        if datatype != "FP16":  # which JSON has not
            inference[f"{datatype} JSON"] = same(await infer(datatype, array, binary=False), array)
    inference["id"] = (await infer("FP32", floats, request_id="7")).id == "7"
    inference["all binary"] = same(await infer("FP32", floats, parameters={"binary_data_output": True}), floats)
    facts = {
        "is_server_live": await client.is_server_live(base),
        "is_server_ready": await client.is_server_ready(base),
        "is_model_ready": await client.is_model_ready(base, "ident_fp32"),
        "is_model_ready, none such": await client.is_model_ready(base, "nothing"),
    }
    errors = {
        "unknown model": await refusal(infer("FP32", floats, model="nothing")),
        "wrong type": await refusal(infer("FP64", arrays["FP64"], model="ident_fp32")),
        "too many rows": await refusal(infer("FP32", np.zeros((9, 2), np.float32))),
    }
    await client.close()
    return {"inference": inference, "facts": facts, "errors": errors}


async def over_grpc():
    async with InferenceGRPCClient(grpc_address, retries=0) as client:

        async def infer(*args, **named):
            return await client.infer(request(*args, **named))

        inference = {}
        for datatype, array in arrays.items():
            inference[datatype] = same(await infer(datatype, array), array)
        inference["id"] = (await infer("FP32", floats, request_id="7")).id == "7"
        many = await asyncio.gather(*(infer("FP32", floats) for _ in range(64)))
        inference["many at one time"] = all(same(answer, floats) for answer in many)
        facts = {
            "is_server_live": await client.is_server_live(),
            "is_server_ready": await client.is_server_ready(),
            "is_model_ready": await client.is_model_ready("ident_fp32"),
            "is_model_ready, none such": await client.is_model_ready("nothing"),
        }
        errors = {
            "unknown model": await refusal(infer("FP32", floats, model="nothing")),
            "wrong type": await refusal(infer("FP64", arrays["FP64"], model="ident_fp32")),
            "too many rows": await refusal(infer("FP32", np.zeros((9, 2), np.float32))),
        }
    return {"inference": inference, "facts": facts, "errors": errors}


async def ask():
    return {"version": version("kserve"), "rest": await rest(), "grpc": await over_grpc()}


print(json.dumps(asyncio.run(ask())))
