"""What swscale (the program ffmpeg) makes of planes of 8 and of 10 bits by each matrix and range.

    python3 deep.py

writes deep.json.gz: of each case Y, U and V of squares of 8 x 8 pixels, a row of them, and their red, green and blue.
"""

import gzip
import json
import subprocess
from random import Random

FORMATS = {"i42010": "yuv420p10le", "p010": "p010le", "i420": "yuv420p", "nv12": "nv12"}
MATRICES = {"bt601": "smpte170m", "bt709": "bt709", "bt2020": "bt2020"}
RANGES = {"limited": "tv", "full": "pc"}
SIDE, COUNT = 8, 48


def colours(random, bits, span):
    """Levels of the range for Y, three quarters of them about the middle for U and V."""
    scale = 2 ** (bits - 8)
    low, high = (16 * scale, 235 * scale) if span == "limited" else (0, 256 * scale - 1)
    return [
        [low + random.randrange(high - low + 1), *(32 * scale + random.randrange(192 * scale) for _ in range(2))]
        for _ in range(COUNT)
    ]


def packed(name, yuv):
    """The picture's bytes: words of 16 bits, little-endian, where it has 10."""
    rows = {plane: [c[plane] for c in yuv for _ in range(SIDE if plane == 0 else SIDE // 2)] for plane in range(3)}
    words = rows[0] * SIDE
    if name in ("nv12", "p010"):
        words += [word for pair in zip(rows[1], rows[2]) for word in pair] * (SIDE // 2)
    else:
        words += rows[1] * (SIDE // 2) + rows[2] * (SIDE // 2)
    if name == "p010":
        words = [word << 6 for word in words]
    return b"".join(word.to_bytes(2 if name in ("i42010", "p010") else 1, "little") for word in words)


def converted(name, data, matrix, span):
    """The middle pixel of each square as RGB."""
    how = f"in_color_matrix={MATRICES[matrix]}:in_range={RANGES[span]}:out_range=pc"
    size = f"{SIDE * COUNT}x{SIDE}"
    command = ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", FORMATS[name], "-s", size, "-i", "-"]
    command += ["-vf", f"scale=flags=accurate_rnd+full_chroma_int+full_chroma_inp:{how},format=rgb24"]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    rgb = subprocess.run(command, input=data, check=True, capture_output=True).stdout
    row = SIDE // 2 * SIDE * COUNT
    return [list(rgb[(row + SIDE * i + SIDE // 2) * 3 :][:3]) for i in range(COUNT)]


def main():
    random = Random(9001)
    cases = []
    for name in FORMATS:
        for matrix in MATRICES:
            for span in RANGES:
                yuv = colours(random, 10 if name in ("i42010", "p010") else 8, span)
                rgb = converted(name, packed(name, yuv), matrix, span)
                cases.append({"format": name, "matrix": matrix, "range": span, "yuv": yuv, "rgb": rgb})
    version = subprocess.run(["ffmpeg", "-version"], check=True, capture_output=True, text=True).stdout
    answers = {"versions": {"ffmpeg": version.split()[2]}, "side": SIDE, "cases": cases}
    with gzip.GzipFile("deep.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps(answers).encode())


main()
