"""Makes `kernels.ptx` of the kernels in this file, with no GPU.

pip install triton==3.9.0
"""

import pathlib
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + offsets, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def product(a, b, c, N: tl.constexpr, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    steps = tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, N, TILE):
        left = tl.load(a + rows[:, None] * N + (k + steps)[None, :])
        right = tl.load(b + (k + steps)[:, None] * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def counts(x, bins, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    values = tl.load(x + offsets, mask=mask, other=0)
    tl.atomic_add(bins + values, 1, mask=mask)


pieces = [
    (softmax, {"x": "*fp32", "out": "*fp32", "columns": "i32"}, {"BLOCK": 256}),
    (product, {"a": "*fp16", "b": "*fp16", "c": "*fp32"}, {"N": 64, "TILE": 32}),
    (counts, {"x": "*i32", "bins": "*i32", "count": "i32"}, {"BLOCK": 128}),
]
for function, signature, constants in pieces:
    signature |= dict.fromkeys(constants, "constexpr")
    source = ASTSource(function, signature, constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32))
    name = pathlib.Path(__file__).with_name(f"{function.__name__}.ptx")
    # Names of files without folders, and without the sections for debuggers, which have them, too.
    text = re.sub(r'(\.file\s+\d+ )".*/', r'\1"', compiled.asm["ptx"])
    text = re.sub(r"\t\.section\s+\.debug[^{]*{[^}]*}\n", "", text)
    name.write_text(text)
    print(name.name, 32 * compiled.metadata.num_warps, compiled.metadata.shared)
