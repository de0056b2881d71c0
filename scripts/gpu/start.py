"""The kit on the GPU machine, which needs bash and Python only (scripts/gpu-kit.mjs makes the kit).

python3 start.py take FOLDER              check the digests of one transfer and unpack it
python3 start.py run [ARGUMENT ...]       run the checks (test/gpu/run.js)
python3 start.py bench [ARGUMENT ...]     run the benchmark (bench/gpu.js)

Everything is kept in --home, and results are also copied to --out while a command runs.
"""

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import time

# TensorRT's libraries; join.sh, which belongs to pack.sh, makes the same links.
LINKED = ("libnvinfer.so.*", "libnvonnxparser.so.*")
MIB = 2**20
MAX_FILES = 8
MAX_FILE_BYTES = 16 * MIB
# Seconds that `take` waits for the checks without TensorRT; they go on during the next transfers.
EARLY_SECONDS = 20
UNPACK_SECONDS = 180
# Seconds that a program has to stop after its time.
GRACE_SECONDS = 10


class Damaged(Exception):
    pass


class Parts:
    """The parts of one archive as a file, in order. Reading waits for parts that have not arrived."""

    def __init__(self, paths):
        self.paths = iter(paths)
        self.file = None

    def read(self, size):
        while True:
            data = self.file.read(size) if self.file else b""
            if data:
                return data
            path = next(self.paths, None)
            if path is None:
                return b""
            while not path.exists():
                time.sleep(0.1)
            self.file = path.open("rb")


def digest(path):
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(MIB):
            sha256.update(block)
    return sha256.hexdigest()


def extract(target, **source):
    target.mkdir(parents=True, exist_ok=True)
    checked = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(**source) as archive:
        archive.extractall(target, **checked)


class Kit:
    def __init__(self, home, out):
        self.home = home
        self.out = out
        self.results = home / "results"
        self.code = home / "kit"
        self.parts = home / "parts"
        self.tensorrt = home / "tensorrt"
        self.unpacked = home / "tensorrt.json"
        self.results.mkdir(parents=True, exist_ok=True)

    @property
    def manifest(self):
        path = self.home / "kit.json"
        if not path.exists():
            raise Damaged(f"Expected a kit in {self.home}. To fix: run `take` with each transfer.")
        return json.loads(path.read_text())

    def take(self, folder):
        manifest = json.loads((folder / "kit.json").read_text())
        archives = {name: folder / name for name in manifest["archives"] if (folder / name).exists()}
        parts = {name: folder / name for name in manifest["parts"] if (folder / name).exists()}
        for name, path in {**archives, **parts}.items():
            expected = {**manifest["archives"], **manifest["parts"]}[name]
            if (received := digest(path)) != expected:
                raise Damaged(f"Expected {expected} as the SHA-256 of {path} but received {received}.")
        for name in ("kit.json", "start.py"):
            shutil.copy(folder / name, self.home / name)
        for name, path in archives.items():
            extract(self.code, name=path, mode="r:xz")
            (self.home / f"{name}.taken").touch()
        self.parts.mkdir(exist_ok=True)
        for name, path in parts.items():
            shutil.move(path, self.parts / f"{name}.incomplete")
            (self.parts / f"{name}.incomplete").rename(self.parts / name)
        if (folder / "results").is_dir():
            shutil.copytree(folder / "results", self.results, dirs_exist_ok=True)
        if manifest["parts"] and not self.parts.joinpath("started").exists():
            self.parts.joinpath("started").touch()
            self.background("unpack", self.home / "unpack.log")
        print(f"took {', '.join([*archives, *parts])}; missing: {', '.join(self.missing()) or 'nothing'}")
        if not self.missing_archives() and not (self.home / "early").exists():
            (self.home / "early").touch()
            self.early()

    def missing_archives(self):
        return [name for name in self.manifest["archives"] if not (self.home / f"{name}.taken").exists()]

    def missing(self):
        return [*self.missing_archives(), *(name for name in self.manifest["parts"] if not (self.parts / name).exists())]

    def background(self, command, log):
        """Starts a command of this program in a session of its own, so that it survives the end of this call."""
        arguments = [sys.executable, str(self.home / "start.py"), "--home", str(self.home), command]
        variables = {name: value for name, value in os.environ.items() if name != "OUT"}
        with log.open("wb") as file:
            streams = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file}
            return subprocess.Popen(arguments, env=variables, start_new_session=True, **streams)

    def unpack(self):
        """Unpacks TensorRT while its parts arrive."""
        started = time.monotonic()
        try:
            parts = Parts([self.parts / name for name in sorted(self.manifest["parts"])])
            extract(self.tensorrt, fileobj=parts, mode="r|xz")
            for pattern in LINKED:
                for path in (self.tensorrt / "lib").glob(pattern):
                    link = path.with_name(f"{path.name.split('.so.')[0]}.so")
                    link.unlink(missing_ok=True)
                    link.symlink_to(path.name)
            state = {"seconds": round(time.monotonic() - started, 1)}
        except Exception as error:
            state = {"error": f"{type(error).__name__}: {error}"}
        self.unpacked.with_suffix(".new").write_text(json.dumps(state))
        self.unpacked.with_suffix(".new").rename(self.unpacked)

    def wait_for_tensorrt(self):
        manifest = self.manifest
        if not manifest["parts"]:
            return
        if missing := self.missing():
            raise Damaged(f"Expected all parts of the kit but {', '.join(missing)} did not arrive.")
        deadline = time.monotonic() + UNPACK_SECONDS
        while not self.unpacked.exists():
            if time.monotonic() > deadline:
                raise Damaged(f"TensorRT was not unpacked within {UNPACK_SECONDS} s.")
            time.sleep(0.2)
        state = json.loads(self.unpacked.read_text())
        if "error" in state:
            raise Damaged(f"TensorRT could not be unpacked: {state['error']}")
        print(f"TensorRT was unpacked in {state['seconds']} s, transfers included")

    def early(self):
        """Runs the checks that need no TensorRT, at most a moment of it in the foreground."""
        log = self.home / "early.log"
        child = self.background("early-checks", log)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(EARLY_SECONDS)
        print(log.read_text(errors="replace"), end="")
        if child.poll() is None:
            print("the checks without TensorRT go on during the next transfers")

    def wait_for_early(self):
        log = self.home / "early.log"
        deadline = time.monotonic() + self.manifest["earlySeconds"]
        while (self.home / "early").exists() and not (self.home / "early.done").exists():
            if time.monotonic() > deadline:
                return
            time.sleep(0.2)
        if log.exists():
            shutil.copy(log, self.results / "early.log")

    def environment(self):
        variables = dict(os.environ)
        variables["NODE_TENSORRT_ADDON"] = str(self.code / "addon" / "node_tensorrt.node")
        libraries = self.tensorrt / "lib"
        if self.unpacked.exists():
            variables["TENSORRT_PATH"] = str(libraries)
            # the folder of the driver is in it already
            known = variables.get("LD_LIBRARY_PATH", "")
            variables["LD_LIBRARY_PATH"] = f"{libraries}:{known}" if known else str(libraries)
        return variables

    def node(self, arguments, limit):
        """Runs Node and copies the results to --out meanwhile. Returns the exit code."""
        command = [str(self.code / "bin" / "node"), *arguments]
        child = subprocess.Popen(command, cwd=self.code, env=self.environment(), start_new_session=True)
        deadline = time.monotonic() + limit
        while True:
            try:
                code = child.wait(1)
                break
            except subprocess.TimeoutExpired:
                self.send()
                if time.monotonic() > deadline:
                    os.killpg(child.pid, signal.SIGKILL)
                    code = child.wait()
                    print(f"killed after {limit} s")
                    break
        if code < 0:
            print(f"Node.js ended with {signal.Signals(-code).name}")
            return 128 - code
        return code

    def run(self, arguments):
        limit = seconds_of(arguments, 600) + self.manifest["checkSeconds"] + GRACE_SECONDS
        references = str(self.code / "references")
        program = ["dist/test/gpu/run.js", "--references", references, "--out", str(self.results)]
        return self.node([*program, *arguments], limit)

    def bench(self, arguments):
        limit = seconds_of(arguments, 180) + GRACE_SECONDS
        folders = ["--out", str(self.results), "--work", str(self.home / "work"), "--ranges", "references"]
        return self.node(["dist/bench/gpu.js", *folders, *arguments], limit)

    def send(self, with_folders=False):
        """Copies what is new of the results to --out, folders as archives."""
        if self.out is None:
            return
        self.out.mkdir(parents=True, exist_ok=True)
        for path in sorted(self.results.iterdir()):
            if path.is_file():
                shutil.copyfile(path, self.out / path.name)
            elif with_folders:
                with tarfile.open(self.out / f"{path.name}.tar.xz", "w:xz") as archive:
                    archive.add(path, path.name)

    def check_sizes(self):
        if self.out is None or not self.out.exists():
            return
        files = [path for path in self.out.iterdir() if path.is_file()]
        if len(files) > MAX_FILES:
            print(f"{len(files)} files in {self.out}, of which {MAX_FILES} at most come back", file=sys.stderr)
        for path in files:
            if path.stat().st_size > MAX_FILE_BYTES:
                print(f"{path} has more than 16 MiB and does not come back", file=sys.stderr)


def seconds_of(arguments, default):
    return float(arguments[arguments.index("--seconds") + 1]) if "--seconds" in arguments else default


def main():
    layout = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    parser = argparse.ArgumentParser(description=__doc__, **layout)
    parser.add_argument("--home", type=pathlib.Path, default="/tmp/node-tensorrt", help="folder on this machine")
    parser.add_argument("--out", type=pathlib.Path, default=os.environ.get("OUT"), help="folder of results (default: $OUT)")
    parser.add_argument("command", choices=["take", "run", "bench", "unpack", "early-checks"])
    options, arguments = parser.parse_known_args()
    sys.stdout.reconfigure(line_buffering=True)
    kit = Kit(options.home.resolve(), options.out)
    code = 0
    try:
        if options.command == "unpack":
            kit.unpack()
            return 0
        if options.command == "early-checks":
            try:
                return kit.run(["--needs", "driver"])
            finally:
                (kit.home / "early.done").touch()
        if options.command == "take":
            kit.take(pathlib.Path(arguments[0]))
        else:
            kit.wait_for_tensorrt()
            kit.wait_for_early()
            code = kit.run(arguments) if options.command == "run" else kit.bench(arguments)
    except (Damaged, OSError, tarfile.TarError) as error:
        print(error, file=sys.stderr)
        code = 1
    finally:
        kit.send(with_folders=True)
        kit.check_sizes()
    return code


if __name__ == "__main__":
    sys.exit(main())
