"""Prints the rates of batches with numpy arrays, and the times of single operations: medians.

Run with: python rates.py [--device cpu] [--set 761] [--batch 65536] [--seconds 2]
"""

import argparse
import statistics
import time
from collections.abc import Callable

import ctru


def median(seconds: float, call: Callable[[], object]) -> float:
    """Returns the seconds that a call takes, the median of its repetitions."""
    call()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="auto")
parser.add_argument("--set", default="761")
parser.add_argument("--batch", type=int, default=1 << 16)
parser.add_argument("--seconds", type=float, default=2.0)
args = parser.parse_args()

engine = ctru.Engine(args.set, args.device)
seeds = {"seed": bytes(32), "context": "rates: not a secret"}
public, private = keys = engine.generate(args.batch, **seeds)
secrets, ciphertexts = sent = engine.encapsulate(public, **seeds)
calls = {
    "keygen": lambda: engine.generate(args.batch, out=keys, **seeds),
    "encaps": lambda: engine.encapsulate(public, out=sent, **seeds),
    "decaps": lambda: engine.decapsulate(private, ciphertexts, out=secrets),
}
print(engine)
for name, call in calls.items():
    print(f"{name} {args.batch / median(args.seconds, call):12,.0f} operations/s")

key = ctru.PrivateKey.generate(args.set)
of_key = key.public_key()
_, ciphertext = of_key.encapsulate()
single = {
    "keygen": lambda: ctru.PrivateKey.generate(args.set),
    "encaps": of_key.encapsulate,
    "decaps": lambda: key.decapsulate(ciphertext),
}
for name, call in single.items():
    print(f"{name} {1e6 * median(args.seconds / 4, call):12.2f} us, one operation")
