"""Compares jobs of `python -m ctru.ray` on the CPUs of this machine with the engine alone.

Run with: python job_rates.py [--set 761] [--rows 1048576] [--rows-per-file 32768] [--repeat 7]

Jobs encapsulate to the keys of Parquet files, count and digest, and write no files. Each core has
an actor with one thread. The engine alone has a thread for each core, and arrays of numpy that are
used again; it runs before and after each job. Prints a line of JSON for each job: the seconds, how
many of them passed before the first actor was ready, the rows per second after that, the mean of
the engine's rates, and their ratio. The last line has the median of the ratios.
"""

import argparse
import contextlib
import io
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import ray

import ctru
import ctru.ray.__main__ as jobs

#: Operations of a batch of the engine alone, and how many batches it computes.
BATCH, BATCHES = 1 << 16, 8

parser = argparse.ArgumentParser()
parser.add_argument("--set", default="761")
parser.add_argument("--rows", type=int, default=1 << 20)
parser.add_argument("--rows-per-file", type=int, default=1 << 15)
parser.add_argument("--repeat", type=int, default=7, help="number of jobs")
args = parser.parse_args()
cores = len(os.sched_getaffinity(0))

engine = ctru.Engine(args.set, "cpu", threads=cores)
seeds = {"seed": bytes(32), "context": "job_rates: not a secret"}
public, _ = engine.generate(BATCH, **seeds)
sent = tuple(np.zeros_like(part) for part in engine.encapsulate(public, **seeds))


def engine_alone() -> float:
    """Returns the operations per second of the engine alone."""
    start = time.monotonic()
    for number in range(BATCHES):
        engine.encapsulate(public, out=sent, first=BATCH * number, **seeds)
    return BATCHES * BATCH / (time.monotonic() - start)


def job(*arguments: object) -> dict[str, float]:
    """Runs a job, and returns what it prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = jobs.main([str(argument) for argument in [*arguments, "--device", "cpu"]])
    assert status == 0, f"the job ends with the status {status}"
    return json.loads(output.getvalue())


with tempfile.TemporaryDirectory() as name:
    seed, keys = Path(name) / "seed", Path(name) / "keys"
    jobs.main(["seed", str(seed)])
    common = ["--set", args.set, "--seed-file", seed, "--context", "job_rates", "--quiet"]
    # Ray has logical CPUs left when all actors have theirs.
    ray.init(address="local", num_cpus=2 * cores, log_to_driver=False, include_dashboard=False)
    rows_per_file = ["--rows-per-file", args.rows_per_file]
    job("keygen", "--count", args.rows, *rows_per_file, "--out", keys, *common)
    # Otherwise the system writes the keys to the disk while the first jobs run.
    os.sync()
    ratios = []
    engine_alone()
    for _ in range(args.repeat):
        before = engine_alone()
        done = job("encaps", "--keys", keys, "--actors", cores, "--threads", 1, *common)
        alone = (before + engine_alone()) / 2
        rate = done["rows"] / (done["seconds"] - done["seconds_to_start"])
        ratios.append(rate / alone)
        of_job = {key: done[key] for key in ("rows", "seconds", "seconds_to_start")}
        rates = {"rows_per_s": rate, "engine_per_s": alone, "ratio": ratios[-1]}
        print(json.dumps({"cores": cores, **of_job, **rates}), flush=True)
    print(json.dumps({"median_ratio": statistics.median(ratios)}))
