"""Asks the ensemble for the pictures' labels with NVIDIA's tritonclient, over HTTP and over gRPC.

Arguments: host:port of HTTP, host:port of gRPC, the pictures. Prints JSON: {"version": ..., "HTTP": {"answers": [[label, score], ...]}, "gRPC": ...},
with "missing" in place of "answers" where a way is not installed.
"""

import json
import sys
from importlib import import_module
from importlib.metadata import version

import numpy as np

http, grpc, *photos = sys.argv[1:]


def asked(module, url, photo):
    jpeg = np.fromfile(photo, np.uint8)[np.newaxis]
    given = module.InferInput("jpeg", jpeg.shape, "UINT8")
    given.set_data_from_numpy(jpeg)
    client = module.InferenceServerClient(url)
    answer = client.infer("classify", [given])
    client.close()
    return [answer.as_numpy("label")[0, 0].decode(), float(answer.as_numpy("score")[0, 0])]


def way(name, url):
    try:
        module = import_module(name)
    except (ImportError, RuntimeError) as error:
        return {"missing": str(error)}
    return {"answers": [asked(module, url, photo) for photo in photos]}


print(json.dumps({"version": version("tritonclient"), "HTTP": way("tritonclient.http", http), "gRPC": way("tritonclient.grpc", grpc)}))
