"""Compares two programs `ctru`: runs `ctru bench` with both in turn, and divides their times.

    python pairs.py [--pairs N] [--seconds S] [--json FILE] OLD NEW ARGUMENT...

The arguments go to `ctru bench`. The two programs of a pair run one after the other, and the order
changes from pair to pair, so that a machine that becomes slower disturbs both alike. Prints, for
each batch, the median of the ratios (time of NEW divided by time of OLD) and its interval, which
holds the true median with a probability of at least 95 % whatever the distribution is. Stops early
after the given seconds. Appends the records to FILE; research/records/README.md explains them
(`pairs`).
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from math import comb
from pathlib import Path

#: The probability with which the true median may lie outside of the interval.
OUTSIDE = 0.05
#: The fields that tell measurements of one run apart.
NAMES = ("set", "pk_encoding", "op", "keys", "seeds", "batch", "transfers", "callers")


def rank(count: int) -> int | None:
    """Returns how many ratios at each end lie outside of the interval, if there are enough."""
    below, tail = None, 0.0
    for outside in range(count // 2):
        tail += comb(count, outside) / 2**count
        if 2 * tail > OUTSIDE:
            break
        below = outside
    return below


def run(program: str, arguments: list[str]) -> dict[tuple, dict]:
    """Runs a program once, and returns its measurements of batches."""
    command = [program, "bench", "--json", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} failed with status {done.returncode}")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    batches = [record for record in records if record["bench"] in ("batch", "on device")]
    return {tuple(record.get(name) for name in NAMES): record for record in batches}


def compared(pairs: list[tuple[dict, dict]]) -> dict:
    """Returns the record of the pairs of a batch."""
    times = [[record["median_ns_per_op"] for record in pair] for pair in pairs]
    ratios = sorted(new / old for old, new in times)
    outside = rank(len(ratios))
    old, new = pairs[-1]
    medians = [statistics.median(column) for column in zip(*times, strict=True)]
    return {
        "bench": "pairs",
        "engine": new["engine"],
        "device": new["device"],
        **{name: new[name] for name in NAMES if name in new},
        "pairs": len(ratios),
        "median_ratio": round(statistics.median(ratios), 4),
        "low": None if outside is None else round(ratios[outside], 4),
        "high": None if outside is None else round(ratios[-1 - outside], 4),
        "old_median_ns_per_op": medians[0],
        "median_ns_per_op": medians[1],
        "old_commit": old["commit"],
        "commit": new["commit"],
        "date": new["date"],
    }


def main() -> None:
    """Runs the pairs, prints a table and writes the records."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if args.pairs < 1:
        parser.error("--pairs must be at least 1")

    measured: dict[tuple, list[tuple[dict, dict]]] = {}
    end = time.monotonic() + args.seconds
    for number in range(args.pairs):
        order = [args.old, args.new] if number % 2 == 0 else [args.new, args.old]
        first, second = (run(program, args.arguments) for program in order)
        old, new = (first, second) if number % 2 == 0 else (second, first)
        for batch in old.keys() & new.keys():
            measured.setdefault(batch, []).append((old[batch], new[batch]))
        if time.monotonic() > end:
            break

    records = [compared(measured[batch]) for batch in sorted(measured)]
    shown = [name for name in (*NAMES, "pairs") if name != "pk_encoding"]
    print(f"| {' | '.join(shown)} | ratio | old us | new us |")
    print(f"|{'---|' * len(shown)}---:|---:|---:|")
    for record in records:
        texts = [str(record.get(name, "-")) for name in shown]
        texts.append(f"{record['median_ratio']:.3f} [{record['low']}, {record['high']}]")
        for times in ("old_median_ns_per_op", "median_ns_per_op"):
            texts.append(f"{record[times] * record['batch'] / 1e3:.1f}")
        print(f"| {' | '.join(texts)} |")
    if args.json:
        with args.json.open("a") as file:
            file.writelines(json.dumps(record, separators=(",", ":")) + "\n" for record in records)


if __name__ == "__main__":
    main()
