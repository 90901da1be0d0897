"""CTRU-Prime with X25519 in plain Python, and the vectors that it makes.

The program follows docs/specification.md and docs/hybrid.md, and RFC 7748 for X25519. It shares no
code with the crates, and it needs no package. It is slow, and its time depends on secrets.

    hybrid.py vectors N FIRST COUNT   writes vectors FIRST, FIRST + 1, ... of the set N
    hybrid.py decapsulate N           reads lines "private_key ciphertext", writes shared secrets
"""

import hashlib
import json
import sys


class Set:
    """The numbers of a parameter set."""

    def __init__(self, n, q, q2_bits, eta):
        self.n, self.q, self.q2_bits, self.eta = n, q, q2_bits, eta
        self.q2 = 1 << q2_bits
        self.message_bytes = n // 16
        self.coin_bytes = -(-2 * eta * n // 8)
        self.ciphertext_bytes = -(-q2_bits * n // 8)
        self.key_label = b"CTRU-Prime-%d X25519 key v1" % n
        self.label = b"CTRU-Prime-%d X25519 SHA3-256 v1" % n


SETS = {653: Set(653, 4621, 11, 3), 761: Set(761, 4591, 10, 2), 1277: Set(1277, 7879, 10, 2)}


def shake256(data, length):
    return hashlib.shake_256(data).digest(length)


def sha3_512_halves(data):
    digest = hashlib.sha3_512(data).digest()
    return digest[:32], digest[32:]


# Polynomials are lists of n integers, lowest power first.


def as_integer(p):
    """Returns the polynomial at 2^64. Its coefficients are not negative."""
    return int.from_bytes(b"".join(c.to_bytes(8, "little") for c in p), "little")


def product(a, b, modulus, n):
    """Returns a b modulo x^n - x - 1 and modulo a number.

    Both polynomials are evaluated at 2^64. Each coefficient of their product is at most
    1277 * 8192^2, so the product of the two numbers has the coefficients of the product as digits.
    """
    numbers = [as_integer([c % modulus for c in p]) for p in (a, b)]
    digits = (numbers[0] * numbers[1]).to_bytes(16 * n, "little")
    wide = [int.from_bytes(digits[i:i + 8], "little") for i in range(0, 16 * n, 8)]
    result = wide[:n]
    for i in range(n, 2 * n - 1):
        result[i - n] += wide[i]
        result[i - n + 1] += wide[i]
    return [c % modulus for c in result]


def inverse(f, q, n):
    """Returns the inverse of f modulo x^n - x - 1 over Z_q, by Euclid's algorithm.

    Invariant: r = u f and s = v f modulo x^n - x - 1.
    """
    def trimmed(p):
        while p and p[-1] == 0:
            p.pop()
        return p

    r, u = trimmed([c % q for c in f]), [1]
    s, v = [q - 1, q - 1] + [0] * (n - 2) + [1], []
    while len(r) > 1:
        # s = s - c x^d r until the degree of s is below that of r.
        lead = pow(r[-1], -1, q)
        while len(s) >= len(r):
            c, d = s[-1] * lead % q, len(s) - len(r)
            s[d:] = [(a - c * b) % q for a, b in zip(s[d:], r)]
            v += [0] * (d + len(u) - len(v))
            v[d:d + len(u)] = [(a - c * b) % q for a, b in zip(v[d:], u)]
            trimmed(s)
        r, u, s, v = s, v, r, u
    scale = pow(r[0], -1, q)
    result = trimmed([c * scale % q for c in u])
    return result + [0] * (n - len(result))


def sample(coins, params):
    """Returns the polynomial of the centred binomial distribution that the coins determine."""
    bits, eta = int.from_bytes(coins, "little"), params.eta
    mask = (1 << eta) - 1
    result = []
    for i in range(params.n):
        chunk = bits >> 2 * eta * i
        result.append((chunk & mask).bit_count() - (chunk >> eta & mask).bit_count())
    return result


def pack(values, width):
    bits = 0
    for i, value in enumerate(values):
        bits |= value << width * i
    return bits.to_bytes(-(-width * len(values) // 8), "little")


def unpack(data, width, count):
    bits = int.from_bytes(data, "little")
    return [bits >> width * i & (1 << width) - 1 for i in range(count)]


LIMIT = 16384


def mixed_radix_encode(values, q):
    pairs, output = [(value, q) for value in values], bytearray()
    while len(pairs) > 1:
        following = []
        for i in range(0, len(pairs) - 1, 2):
            (r0, m0), (r1, m1) = pairs[i], pairs[i + 1]
            r, m = r0 + m0 * r1, m0 * m1
            while m >= LIMIT:
                output.append(r % 256)
                r, m = r // 256, -(-m // 256)
            following.append((r, m))
        if len(pairs) % 2:
            following.append(pairs[-1])
        pairs = following
    (r, m), = pairs
    while m > 1:
        output.append(r % 256)
        r, m = r // 256, -(-m // 256)
    return bytes(output)


def mixed_radix_decode(data, q, n):
    def decode(radices, place):
        """Returns the values that the bytes from `place` on encode."""
        if len(radices) == 1:
            return [int.from_bytes(data[place:], "little") % radices[0]]
        low, following = [], []
        for i in range(0, len(radices) - 1, 2):
            m, count = radices[i] * radices[i + 1], 0
            while m >= LIMIT:
                m, count = -(-m // 256), count + 1
            low.append((int.from_bytes(data[place:place + count], "little"), count))
            place += count
            following.append(m)
        if len(radices) % 2:
            following.append(radices[-1])
        high, values = decode(following, place), []
        for i, (number, count) in enumerate(low):
            number += high[i] << 8 * count
            values += [number % radices[2 * i], number // radices[2 * i] % radices[2 * i + 1]]
        return values + high[len(low):]

    return decode([q] * n, 0)


def codeword(nibble):
    basis = (0x55, 0x0F, 0x3C, 0xF0)
    result = 0
    for bit, word in enumerate(basis):
        if nibble >> bit & 1:
            result ^= word
    return result


CODEWORDS = [codeword(nibble) for nibble in range(16)]


def nearest_nibble(v, q2):
    """Returns the nibble whose codeword is nearest to eight values, by the rule for ties."""
    d = [(min(c, q2 - c) ** 2, (c - q2 // 2) ** 2) for c in v]
    candidates = []
    for s in (0, 1):
        cost, bits, gaps = 0, [], []
        for j in range(4):
            c0 = d[2 * j][s] + d[2 * j + 1][0]
            c1 = d[2 * j][1 - s] + d[2 * j + 1][1]
            bits.append(int(c1 < c0))
            cost += min(c0, c1)
            gaps.append(abs(c1 - c0))
        if sum(bits) % 2:
            j = gaps.index(min(gaps))
            bits[j] ^= 1
            cost += gaps[j]
        candidates.append((cost, s | bits[0] << 1 | (bits[0] ^ bits[1]) << 2 | bits[3] << 3))
    (cost0, nibble0), (cost1, nibble1) = candidates
    return nibble1 if cost1 < cost0 else nibble0


def keygen(seed, params):
    """Returns the secret polynomial f and the public key."""
    n, q = params.n, params.q
    coins = shake256(seed, 2 * params.coin_bytes)
    f = [2 * c for c in sample(coins[:params.coin_bytes], params)]
    f[0] += 1
    g = sample(coins[params.coin_bytes:], params)
    inverted = inverse(f, q, n)
    assert product(f, inverted, q, n) == [1] + [0] * (n - 1)
    return f, mixed_radix_encode(product(g, inverted, q, n), q)


def encrypt(public_key, message, coins, params):
    n, q, q2 = params.n, params.q, params.q2
    sigma = product(mixed_radix_decode(public_key, q, n), sample(coins, params), q, n)
    bits = []
    for byte in message:
        for nibble in (byte % 16, byte // 16):
            bits += [CODEWORDS[nibble] >> j & 1 for j in range(8)]
    bits += [0] * (n - len(bits))
    rounded = [(q2 * c + (q - 1) // 2) // q for c in sigma]
    return pack([(t + q2 // 2 * e) % q2 for t, e in zip(rounded, bits)], params.q2_bits)


def decrypt(f, ciphertext, params):
    c = unpack(ciphertext, params.q2_bits, params.n)
    v = product(c, f, params.q2, params.n)
    count = 2 * params.message_bytes
    nibbles = [nearest_nibble(v[8 * i:8 * i + 8], params.q2) for i in range(count)]
    return bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2]))


def ctru_encapsulate(public_key, seed, params):
    message = shake256(seed, params.message_bytes)
    key, coin_seed = sha3_512_halves(public_key[:33] + message)
    coins = shake256(coin_seed, params.coin_bytes)
    return encrypt(public_key, message, coins, params), key


def ctru_decapsulate(f, public_key, z, ciphertext, params):
    message = decrypt(f, ciphertext, params)
    key, coin_seed = sha3_512_halves(public_key[:33] + message)
    coins = shake256(coin_seed, params.coin_bytes)
    if encrypt(public_key, message, coins, params) == ciphertext:
        return key
    return sha3_512_halves(public_key[:33] + z + ciphertext)[0]


P25519 = 2**255 - 19


def x25519(scalar, point):
    """Returns X25519(scalar, point) (RFC 7748, section 5)."""
    k = int.from_bytes(scalar, "little") & 2**254 - 8 | 2**254
    x1 = int.from_bytes(point, "little") % 2**255
    x2, z2, x3, z3, swapped = 1, 0, x1, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swapped != bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swapped = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % P25519, x1 * (da - cb) ** 2 % P25519
        x2, z2 = aa * bb % P25519, e * (aa + 121665 * e) % P25519
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, P25519 - 2, P25519) % P25519).to_bytes(32, "little")


BASE_POINT = bytes([9]) + bytes(31)


def combine(ss_ctru, ss_x25519, ct_ctru, ephemeral, pk_ctru, pk_x25519, params):
    parts = (ss_ctru, ss_x25519, ct_ctru, ephemeral, pk_ctru, pk_x25519, params.label)
    return hashlib.sha3_256(b"".join(parts)).digest()


def expand(private_key, params):
    """Returns the seed and z of CTRU-Prime and the private key of X25519."""
    expanded = shake256(params.key_label + private_key, 96)
    return expanded[:32], expanded[32:64], expanded[64:]


def decapsulate(private_key, ciphertext, params):
    seed, z, scalar = expand(private_key, params)
    f, pk_ctru = keygen(seed, params)
    ct_ctru, ephemeral = ciphertext[:-32], ciphertext[-32:]
    ss_ctru = ctru_decapsulate(f, pk_ctru, z, ct_ctru, params)
    ss_x25519 = x25519(scalar, ephemeral)
    pk_x25519 = x25519(scalar, BASE_POINT)
    return combine(ss_ctru, ss_x25519, ct_ctru, ephemeral, pk_ctru, pk_x25519, params)


def vector(private_key, coins, params):
    seed, _, scalar = expand(private_key, params)
    _, pk_ctru = keygen(seed, params)
    pk_x25519 = x25519(scalar, BASE_POINT)
    ct_ctru, ss_ctru = ctru_encapsulate(pk_ctru, coins[:32], params)
    ephemeral = x25519(coins[32:], BASE_POINT)
    ss_x25519 = x25519(coins[32:], pk_x25519)
    secret = combine(ss_ctru, ss_x25519, ct_ctru, ephemeral, pk_ctru, pk_x25519, params)
    return {
        "n": params.n,
        "private_key": private_key.hex(),
        "public_key": (pk_ctru + pk_x25519).hex(),
        "coins": coins.hex(),
        "ciphertext": (ct_ctru + ephemeral).hex(),
        "ss_ctru": ss_ctru.hex(),
        "ss_x25519": ss_x25519.hex(),
        "shared_secret": secret.hex(),
    }


def vectors(params, first, count):
    """Writes vectors. Their inputs come from SHAKE256 of a label, n and the number of the line."""
    for line in range(first, first + count):
        label = b"CTRU-Prime X25519 vectors v2/n=%d/" % params.n
        inputs = shake256(label + line.to_bytes(4, "little"), 96)
        record = vector(inputs[:32], inputs[32:], params)
        secret = decapsulate(inputs[:32], bytes.fromhex(record["ciphertext"]), params)
        assert secret.hex() == record["shared_secret"]
        print(json.dumps(record, separators=(",", ":")))


def check_x25519():
    """Compares X25519 with a vector of RFC 7748, section 5.2."""
    expected = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"
    assert x25519(BASE_POINT, BASE_POINT).hex() == expected, "X25519 is wrong"


def main(arguments):
    match arguments:
        case ["vectors", n, first, count]:
            check_x25519()
            vectors(SETS[int(n)], int(first), int(count))
        case ["decapsulate", n]:
            for line in sys.stdin:
                private_key, ciphertext = map(bytes.fromhex, line.split())
                print(decapsulate(private_key, ciphertext, SETS[int(n)]).hex())
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
