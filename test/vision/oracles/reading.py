"""Pictures of every kind that readImage is to read, with the pixels that PIL reads from them: reading.json.gz, for reading.test.ts.

Run: python reading.py (Pillow, numpy, opencv-python-headless); the versions are written beside the results. PIL always turns by EXIF (ImageOps.exif_transpose).
"""

import base64
import gzip
import io
import json
import os
import struct

import cv2
import numpy as np
import PIL
from PIL import Image, ImageCms, ImageOps

WIDTH, HEIGHT = 19, 13
cases, files = [], []


def noise(seed, *shape):
    """Bytes of an LCG, smoothed a little along rows so that JPEG keeps something of them."""
    state, values = seed, np.empty(int(np.prod(shape)), np.uint8)
    for i in range(len(values)):
        state = (state * 1664525 + 1013904223) % 2**32
        values[i] = state >> 24
    return values.reshape(shape)


def picture(seed=1):
    values = noise(seed, HEIGHT, WIDTH, 3).astype(int)
    slope = np.linspace(20, 235, WIDTH).astype(int)[None, :, None]
    return ((values + 3 * slope) // 4).astype(np.uint8)


def saved(image, format, **options):
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def pixels_of(file):
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file))).convert("RGB"))


def number(file):
    """Of a file, which several cases may read."""
    text = base64.b64encode(file).decode()
    if text not in files:
        files.append(text)
    return files.index(text)


def add(name, file, pixels=None, most=0, **more):
    """A case: what readImage gives for `file` with `options` differs from `pixels` by at most `most`."""
    expected = pixels_of(file) if pixels is None else pixels
    text = {"file": number(file), "pixels": base64.b64encode(expected.tobytes()).decode()}
    cases.append({"name": name, "width": expected.shape[1], "height": expected.shape[0], "most": most, **more, **text})


def refused(name, file, why):
    cases.append({"name": name, "file": number(file), "refused": why})


def kinds_of_png():
    rgb = picture()
    grey = rgb[:, :, 1]
    alpha = noise(7, HEIGHT, WIDTH)
    add("PNG", saved(Image.fromarray(rgb), "PNG"))
    add("PNG grey", saved(Image.fromarray(grey), "PNG"))
    add("PNG of 1 bit", saved(Image.fromarray(grey).convert("1"), "PNG"))
    add("PNG palette", saved(Image.fromarray(rgb).quantize(16), "PNG"))
    add("PNG palette with a transparent colour", saved(Image.fromarray(rgb).quantize(16), "PNG", transparency=3), alpha=True)
    la = Image.merge("LA", [Image.fromarray(grey), Image.fromarray(alpha)])
    add("PNG grey with alpha", saved(la, "PNG"), alpha=True)
    rgba = Image.fromarray(np.dstack([rgb, alpha]))
    add("PNG with alpha", saved(rgba, "PNG"), alpha=True)
    for color in ([255, 255, 255], [10, 200, 30]):
        ground = Image.new("RGBA", rgba.size, tuple(color) + (255,))
        flat = np.asarray(Image.alpha_composite(ground, rgba).convert("RGB"))
        add(f"PNG with alpha on {color}", saved(rgba, "PNG"), flat, most=1, alpha=True, options={"background": color})
    add("PNG without alpha, with a background", saved(Image.fromarray(rgb), "PNG"), options={"background": [9, 9, 9]})


def sixteen_bit():
    """PIL would clip grey to white, so what is expected is the number over 257, the whole of 16 bit over the whole of 8."""
    grey = noise(3, HEIGHT, WIDTH).astype(np.uint16) * 256 + noise(4, HEIGHT, WIDTH)
    tripled = np.repeat(grey[:, :, None], 3, axis=2)
    add("PNG of 16 bit, grey", cv2.imencode(".png", grey)[1].tobytes(), np.round(tripled / 257).astype(np.uint8), most=1)
    add("TIFF of 16 bit, grey", saved(Image.fromarray(grey), "TIFF"), np.round(tripled / 257).astype(np.uint8), most=1)
    rgb = noise(5, HEIGHT, WIDTH, 3).astype(np.uint16) * 256 + noise(6, HEIGHT, WIDTH, 3)
    file = cv2.imencode(".png", rgb[:, :, ::-1])[1].tobytes()
    add("PNG of 16 bit", file, np.round(rgb / 257).astype(np.uint8), most=1)


def kinds_of_jpeg():
    rgb = Image.fromarray(picture(2))
    for name, sampling in (("4:4:4", 0), ("4:2:2", 1), ("4:2:0", 2)):
        add(f"JPEG {name}", saved(rgb, "JPEG", quality=90, subsampling=sampling), most=2)
        add(f"JPEG {name}, progressive", saved(rgb, "JPEG", quality=80, subsampling=sampling, progressive=True), most=2)
    add("JPEG grey", saved(rgb.convert("L"), "JPEG", quality=90), most=2)
    # through the profile of a press in one, by arithmetic in the other: near, no more
    flat = Image.fromarray(np.full((HEIGHT, WIDTH, 3), (170, 150, 140), np.uint8)).convert("CMYK")
    add("JPEG in CMYK", saved(flat, "JPEG", quality=95), most=70)


def orientations():
    for format in ("JPEG", "PNG", "WEBP"):
        for orientation in range(1, 9):
            exif = Image.Exif()
            exif[0x0112] = orientation
            how = {"JPEG": {"quality": 95}, "PNG": {}, "WEBP": {"lossless": True}}[format]
            file = saved(Image.fromarray(picture(8)[:9, :14]), format, exif=exif.tobytes(), **how)
            add(f"{format}, orientation {orientation}", file, most=2 if format == "JPEG" else 0, orientation=orientation)
            if orientation != 6:
                continue
            stored = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
            most = 2 if format == "JPEG" else 0
            add(f"{format}, orientation 6 as it is stored", file, stored, most=most, orientation=6, options={"orient": False})


def display_p3():
    """An ICC profile of version 2: Display P3's primaries as they are seen from D50, and a gamma of 2.2."""

    def fixed(*numbers):
        return b"".join(struct.pack(">i", round(number * 65536)) for number in numbers)

    def xyz(*numbers):
        return b"XYZ \0\0\0\0" + fixed(*numbers)

    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(2.2 * 256)) + b"\0\0"
    name = b"Display P3 of a test\0"
    tags = {
        b"desc": b"desc\0\0\0\0" + struct.pack(">I", len(name)) + name + bytes(79),
        b"cprt": b"text\0\0\0\0none\0\0\0\0",
        b"wtpt": xyz(0.9642, 1, 0.8249),
        b"rXYZ": xyz(0.51512, 0.2412, -0.00105),
        b"gXYZ": xyz(0.29198, 0.69225, 0.04189),
        b"bXYZ": xyz(0.1571, 0.06657, 0.78407),
        b"rTRC": curve,
        b"gTRC": curve,
        b"bTRC": curve,
    }
    at, table, data = 128 + 4 + 12 * len(tags), b"", b""
    for tag, value in tags.items():
        value += bytes(-len(value) % 4)
        table += tag + struct.pack(">II", at + len(data), len(value))
        data += value
    head = struct.pack(">I4sI4s4s4s12x4s28x", at + len(data), bytes(4), 0x02100000, b"mntr", b"RGB ", b"XYZ ", b"acsp")
    head += fixed(0.9642, 1, 0.8249) + bytes(48)
    return head + struct.pack(">I", len(tags)) + table + data


def profiles():
    profile = display_p3()
    rgb = Image.fromarray(picture(9))
    to_srgb = (ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB"), ImageCms.Intent.PERCEPTUAL)
    converted = np.asarray(ImageCms.profileToProfile(rgb, *to_srgb))
    for format, how in (("PNG", {}), ("WEBP", {"lossless": True})):
        file = saved(rgb, format, icc_profile=profile, **how)
        add(f"{format} in Display P3", file, converted, most=2)
        add(f"{format} in Display P3, ignored", file, options={"icc": "ignore"})
    file = saved(rgb, "JPEG", quality=95, icc_profile=profile)
    decoded = Image.open(io.BytesIO(file)).convert("RGB")
    add("JPEG in Display P3", file, np.asarray(ImageCms.profileToProfile(decoded, *to_srgb)), most=3)
    add("JPEG in Display P3, ignored", file, most=2, options={"icc": "ignore"})
    deep = cv2.imencode(".png", np.asarray(rgb)[:, :, ::-1].astype(np.uint16) * 257)[1].tobytes()
    deep = with_profile(deep, profile)
    add("PNG of 16 bit in Display P3", deep, converted, most=2)
    add("PNG of 16 bit in Display P3, ignored", deep, np.asarray(rgb), options={"icc": "ignore"})


def with_profile(png, profile):
    """cv2 writes no profile: its chunk goes behind the first."""
    import zlib

    body = b"iCCP" + b"p\0\0" + zlib.compress(profile)
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:33] + chunk + png[33:]


def many():
    frames = [Image.fromarray(picture(seed)) for seed in (11, 12, 13)]
    webp = saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], duration=40, lossless=True)
    gif = saved(frames[0].quantize(32), "GIF", save_all=True, append_images=[frame.quantize(32) for frame in frames[1:]], duration=40)
    # sharp has alpha of every GIF
    for format, file in (("WEBP", webp), ("GIF", gif)):
        for page in range(3):
            image = Image.open(io.BytesIO(file))
            image.seek(page)
            add(f"{format}, frame {page}", file, np.asarray(image.convert("RGB")), pages=3, alpha=format == "GIF", options={"page": page} if page else {})
    other = Image.fromarray(picture(14)[:7, :5])
    tiff = saved(frames[0], "TIFF", save_all=True, append_images=[other], compression="tiff_deflate")
    add("TIFF, page 0", tiff, np.asarray(frames[0]), pages=2)
    add("TIFF, page 1, of another size", tiff, np.asarray(other), pages=2, options={"page": 1})


def shrinking():
    """A smooth picture, of which every good reduction gives the same; its sides are multiples of 8, as libjpeg's reduction likes them."""
    y, x = np.mgrid[0:200, 0:296]
    waves = [np.sin(x / 29 + y / 47), np.cos(x / 41 - y / 31), np.sin(x / 23) * np.cos(y / 37)]
    image = Image.fromarray(np.round(np.dstack(waves) * 100 + 128).astype(np.uint8))
    exif = Image.Exif()
    exif[0x0112] = 6
    kinds = {
        "JPEG": saved(image, "JPEG", quality=95, subsampling=0),
        "JPEG, orientation 6": saved(image, "JPEG", quality=95, subsampling=0, exif=exif.tobytes()),
        "WEBP": saved(image, "WEBP", quality=95),
    }
    for format, file in kinds.items():
        turned = "6" in format
        full = Image.fromarray(pixels_of(file))
        for factor in (5,) if turned else (3, 5, 9):
            size = (full.width // factor, full.height // factor)
            pixels = np.asarray(full.resize(size, Image.BILINEAR))
            options = {"shrink": {"width": size[0], "height": size[1]}}
            add(f"{format}, shrunk by {factor}", file, pixels, most=6, original=full.size, orientation=6 if turned else 1, options=options)


def not_to_be_read():
    grey = picture()[:, :, 0]
    refused("TIFF of floats", saved(Image.fromarray(grey.astype(np.float32) / 255), "TIFF"), "its samples are float")
    refused("TIFF of 32 bit", saved(Image.fromarray(grey.astype(np.int32) * 1000), "TIFF"), "its samples are u?int")


kinds_of_png()
sixteen_bit()
kinds_of_jpeg()
orientations()
profiles()
many()
shrinking()
not_to_be_read()
versions = {"Pillow": PIL.__version__, "numpy": np.__version__, "opencv": cv2.__version__, "littlecms": ImageCms.core.littlecms_version}
text = json.dumps({"versions": versions, "files": files, "cases": cases}, separators=(",", ":"))
target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reading.json.gz")
with open(target, "wb") as file:
    file.write(gzip.compress(text.encode(), 9, mtime=0))
print(len(cases), "cases,", os.path.getsize(target), "bytes,", versions)
