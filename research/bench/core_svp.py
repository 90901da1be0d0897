#!/usr/bin/env python3
"""Estimates what the primal lattice attack costs, for all parameter sets of both schemes.

    research/bench/core_svp.py

The method is that of E. Alkim, L. Ducas, T. Pöppelmann and P. Schwabe, "Post-quantum key
exchange: a new hope", 2016, section 6. BKZ with blocks of size b finds a vector with coefficients
of standard deviation s in a lattice of dimension d and volume v, if

    s sqrt(b) <= delta^(2b - d - 1) v^(1/d),  delta = ((pi b)^(1/b) b / (2 pi e))^(1 / (2b - 2)).

The cost counted is that of one call of an oracle for shortest vectors: 2^(0.292 b), or 2^(0.265 b)
on a quantum computer. BKZ makes more calls. A secret is a pair of polynomials, one of which is
scaled until both have one deviation. The attacker chooses how many of the n samples to use, and
knows the message of a ciphertext.

Not counted: the n rotations of a secret, dual and hybrid attacks, the cost of memory, decryption
failures.
"""

from math import e, log, pi, sqrt

#: The sets of CTRU-Prime: n, q, q2, and the parameter of the binomial distribution.
CTRU_PRIME = ((653, 4621, 2048, 3), (761, 4591, 1024, 2), (1277, 7879, 1024, 2))
#: The sets of Streamlined NTRU Prime: n, q, and the weight of short polynomials.
NTRU_PRIME = (
    (653, 4621, 288),
    (761, 4591, 286),
    (857, 5167, 322),
    (953, 6343, 396),
    (1013, 7177, 448),
    (1277, 7879, 492),
)


def finds(block: int, n: int, q: int, samples: int, secret: float, error: float, more: int) -> bool:
    """Returns whether a block size finds the secret. `more` is 1 if a target is embedded."""
    dimension = n + samples + more
    volume = samples * log(q) + n * log(error / secret)
    delta = log((pi * block) ** (1 / block) * block / (2 * pi * e)) / (2 * block - 2)
    reached = (2 * block - dimension - 1) * delta + volume / dimension
    return log(error) + log(block) / 2 <= reached


def block_size(n: int, q: int, secret: float, error: float, more: int) -> int:
    """Returns the least block size that finds a secret, over all numbers of samples."""
    least = 2 * n
    for samples in range(n // 2, n + 1):
        while finds(least - 1, n, q, samples, secret, error, more):
            least -= 1
    return least


def main() -> None:
    """Prints the table."""
    rows = []
    for n, q, q2, eta in CTRU_PRIME:
        # f h = g, so 2 f' h = g - h, and h is the embedded target. c rounds r h to q2 values.
        deviation, rounding = sqrt(eta / 2), q / q2 / sqrt(12)
        key = block_size(n, q, deviation, deviation, 1)
        rows.append((f"CTRU-Prime-{n}", key, block_size(n, q, deviation, rounding, 1)))
    for n, q, weight in NTRU_PRIME:
        # A key is g / (3 f), a ciphertext rounds h r to multiples of 3, and r is like f.
        short, ternary = sqrt(weight / n), sqrt(2 / 3)
        key = block_size(n, q, short, ternary, 0)
        rows.append((f"sntrup{n}", key, block_size(n, q, short, ternary, 1)))
    print("| set | block, key | block, ciphertext | log2, less of both | the same, quantum |")
    print("|---|---:|---:|---:|---:|")
    for name, key, ciphertext in rows:
        least = min(key, ciphertext)
        print(f"| {name} | {key} | {ciphertext} | {0.292 * least:.0f} | {0.265 * least:.0f} |")


if __name__ == "__main__":
    main()
