"""Asks the ensemble for the pictures' labels with NVIDIA's tritonclient, over HTTP and over gRPC.

Arguments: host:port of HTTP, host:port of gRPC, the pictures. Prints JSON: {"HTTP": [[label, score], ...], "gRPC": [...], "version": ...}.
"""

import json
import sys
from importlib.metadata import version

import numpy as np
import tritonclient.grpc
import tritonclient.http

http, grpc, *photos = sys.argv[1:]


def asked(module, url, photo):
    jpeg = np.fromfile(photo, np.uint8)[np.newaxis]
    given = module.InferInput("jpeg", jpeg.shape, "UINT8")
    given.set_data_from_numpy(jpeg)
    client = module.InferenceServerClient(url)
    answer = client.infer("classify", [given])
    client.close()
    return [answer.as_numpy("label")[0, 0].decode(), float(answer.as_numpy("score")[0, 0])]


print(
    json.dumps(
        {
            "HTTP": [asked(tritonclient.http, http, photo) for photo in photos],
            "gRPC": [asked(tritonclient.grpc, grpc, photo) for photo in photos],
            "version": version("tritonclient"),
        }
    )
)
