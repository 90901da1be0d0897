"""Prints the rates of batches on a GPU, one JSON object a line: through numpy arrays, whose memory
is not pinned, and through arrays of CuPy on the GPU; beside both, the rates of the same engine in
Rust, which the program `ctru` measures in the same run.

Run with: python gpu_rates.py --ctru PATH [--set 761] [--batch 1048576] [--seconds 2] [--rounds 3]

Each round measures everything once, in turns. The last lines have the medians of the rounds, and
the ratios of Python to Rust.
"""

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable

import cupy

import ctru

parser = argparse.ArgumentParser()
parser.add_argument("--ctru", required=True, help="the program `ctru`")
parser.add_argument("--set", default="761")
parser.add_argument("--batch", type=int, default=1 << 20)
parser.add_argument("--seconds", type=float, default=2.0)
parser.add_argument("--rounds", type=int, default=3)
args = parser.parse_args()

SEEDS = {"seed": bytes(32), "context": "rates: not a secret"}
OPERATIONS = ("keygen", "encaps", "decaps")


def rate(call: Callable[[], object]) -> float:
    """Returns the operations per second of a call, the median of its repetitions."""
    call()
    times = []
    end = time.perf_counter() + args.seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return args.batch / statistics.median(times)


def in_rust(place: str) -> dict[str, float]:
    """Returns the rates of the program `ctru`, with a key for each operation."""
    command = [args.ctru, "bench", "--json", "--engine", "gpu", "--set", args.set, place]
    command += ["--batch", str(args.batch), "--seconds", str(args.seconds)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rates = {}
    for record in map(json.loads, lines):
        if record["bench"] == "batch" and record["keys"] == "each":
            rates[record["op"]] = record["ops_per_s"]
    return rates


def in_python(engine: ctru.Engine, kind: str, fresh: bool) -> dict[str, float]:
    """Returns the rates of arrays of a kind: of the caller's arrays, or of fresh ones."""
    count = args.batch
    public, private = keys = engine.generate(count, kind=kind, **SEEDS)
    secrets, ciphertexts = sent = engine.encapsulate(public, **SEEDS)
    pair = {"kind": kind} if fresh else {"out": keys}
    both, one = ({}, {}) if fresh else ({"out": sent}, {"out": secrets})
    return {
        "keygen": rate(lambda: engine.generate(count, **pair, **SEEDS)),
        "encaps": rate(lambda: engine.encapsulate(public, **both, **SEEDS)),
        "decaps": rate(lambda: engine.decapsulate(private, ciphertexts, **one)),
    }


engine = ctru.Engine(args.set, "cuda")
gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
measures: dict[str, Callable[[], dict[str, float]]] = {
    "Rust, pageable": lambda: in_rust("--pageable"),
    "numpy, out": lambda: in_python(engine, "numpy", False),
    "numpy, new arrays": lambda: in_python(engine, "numpy", True),
    "Rust, on the device": lambda: in_rust("--on-device"),
    "CuPy, out": lambda: in_python(engine, "cupy", False),
    "CuPy, new arrays": lambda: in_python(engine, "cupy", True),
}
found: dict[tuple[str, str], list[float]] = {}
for turn in range(args.rounds):
    for what, measure in measures.items():
        for operation, operations in measure().items():
            found.setdefault((what, operation), []).append(operations)
            line = {"round": turn, "arrays": what, "op": operation, "ops_per_s": operations}
            print(json.dumps(line), flush=True)
for operation in OPERATIONS:
    for what in measures:
        beside = (
            "Rust, pageable" if "numpy" in what or "pageable" in what else "Rust, on the device"
        )
        median = statistics.median(found[what, operation])
        line = {
            "gpu": gpu,
            "set": args.set,
            "batch": args.batch,
            "arrays": what,
            "op": operation,
            "median_ops_per_s": median,
            "of_rust": median / statistics.median(found[beside, operation]),
        }
        print(json.dumps(line), flush=True)
