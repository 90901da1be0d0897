#!/usr/bin/env python3
"""Plants faults, drawn by a seed, in products, transforms and foldings, and runs the proofs.

    research/bench/faults.py --seed 58 --count 60 --scratch DIR [--known faults.tsv] > new.tsv

Works on a copy of the sources in DIR, with the rings 653 and 761 only, so that it compiles faster.
Prints a row for each fault: file, line, kind, the line before and after, and what found it. A fault
that is not Rust is drawn again. `nothing` in the last column is a fault that no proof found. Faults
that the table of `--known` has are not planted: they are printed with what found them then.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MATH = "crates/ctru-math/src"
FILES = [
    *(f"mul/rns_ntt/{name}.rs" for name in ("basemul", "crt", "mod", "ntt_poly", "ternary")),
    *(f"mul/rns_ntt/{name}.rs" for name in ("transform", "plan/mod", "plan/bounds")),
    *(f"simd/{name}.rs" for name in ("modulus", "arch/portable", "arch/sse2", "arch/avx2")),
    *(f"simd/arch/{name}.rs" for name in ("avx512", "transpose")),
]
OTHER_RINGS = "857|953|1013|1277"

# The kinds of faults: what to look for, and its replacements.
KINDS = {
    "number": (r"(?<![\w.#])\d+(?![\w.]|_)", lambda n: [str(int(n) + 1), str(max(int(n) - 1, 0))]),
    "sign": (
        r"\.add\(|\.sub\(| \+ | - |_add_epi16|_sub_epi16|wrapping_add|wrapping_sub",
        lambda s: [s.replace("add", "\0").replace("sub", "add").replace("\0", "sub")]
        if "a" in s or "u" in s
        else [" - " if "+" in s else " + "],
    ),
    "bound": (
        r" < | <= | > | >= |\.min\(|\.max\(|true|false",
        lambda s: [
            {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", ".min(": ".max("}.get(
                s, {".max(": ".min(", "true": "false", "false": "true"}.get(s)
            )
        ],
    ),
    "lane": (
        r"unpacklo|unpackhi|\blow\b|\bhigh\b|\bHALF\b|\bLANES\b|\bleft\b|\bright\b",
        lambda s: [
            {
                "unpacklo": "unpackhi",
                "unpackhi": "unpacklo",
                "low": "high",
                "high": "low",
                "HALF": "LANES",
                "LANES": "HALF",
                "left": "right",
                "right": "left",
            }[s]
        ],
    ),
    "twiddle": (
        r"\bzeta\b|\bzeta_qinv\b|\bforward_table\b|\binverse_table\b|\bP[012]_INVERSE_[12]\b"
        r"|\bP[012]\b|\bHALF_2\b|\.column\(\)|\.row\(\)",
        lambda s: {
            "zeta": ["zeta_qinv"],
            "zeta_qinv": ["zeta"],
            "forward_table": ["inverse_table"],
            "inverse_table": ["forward_table"],
            "P0": ["P1"],
            "P1": ["P2"],
            "P2": ["P1"],
            "P0_INVERSE_1": ["P0_INVERSE_2"],
            "P0_INVERSE_2": ["P0_INVERSE_1", "P1_INVERSE_2"],
            "P1_INVERSE_2": ["P0_INVERSE_2"],
            "HALF_2": ["P0_INVERSE_2"],
            ".column()": [".row()"],
            ".row()": [".column()"],
        }[s],
    ),
    "operation": (
        r"mul_low|mul_high\b|mullo_epi16|mulhi_epi16| \* | / | << | >> | \^ | & "
        r"|\.reduce\(|\.mul\(",
        lambda s: [
            {
                "mul_low": "mul_high",
                "mul_high": "mul_low",
                "mullo_epi16": "mulhi_epi16",
                "mulhi_epi16": "mullo_epi16",
                " * ": " + ",
                " / ": " * ",
                " << ": " >> ",
                " >> ": " << ",
                " ^ ": " | ",
                " & ": " | ",
                ".reduce(": ".centre(",
                ".mul(": ".mul_low(",
            }[s]
        ],
    ),
}


def sites(text):
    """Yields the places of a file's product code where a fault can be planted."""
    text = text.split("#[cfg(test)]\nmod tests")[0]
    for number, line in enumerate(text.split("\n")):
        code = line.split("//")[0]
        if re.search(r"^\s*(#|use |pub use |mod |assert|debug_assert)|expect\(|cfg", code):
            continue
        for kind, (pattern, replacements) in KINDS.items():
            for match in re.finditer(pattern, code):
                for replacement in replacements(match[0]):
                    changed = line[: match.start()] + replacement + line[match.end() :]
                    if changed != line:
                        yield number, kind, changed


def copy(scratch):
    """Copies the sources twice, with two rings: for proofs of steps and for those of products."""
    tree = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for part in ("steps", "products"):
        for name in tree.stdout.decode().split("\0"):
            source, target = ROOT / name, scratch / part / name
            if source.is_file() and not name.startswith(("docs/", "research/", "web/")):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        reduce(scratch / part)
    # Steps need no public functions. Without them, the library is compiled once only.
    steps = scratch / "steps"
    (steps / "tests/src/lib.rs").write_text("//! Checks.\npub mod exhaust;\n")
    manifest = steps / "tests/Cargo.toml"
    manifest.write_text(manifest.read_text().replace("ctru-math.workspace = true\n", ""))
    for name, impl in (("compiled", "const _: () = {"), ("arithmetic", "impl ")):
        file = steps / MATH / f"{name}.rs"
        text = re.sub(rf"\n( +){impl}", rf"\n\1#[cfg(not(test))]\n\1{impl}", file.read_text())
        file.write_text(text)


def reduce(sources):
    """Leaves two rings, and of the tests what proofs need."""
    ring = sources / MATH / "ring.rs"
    text = re.sub(rf"\n            R({OTHER_RINGS}) \d+ {{[^}}]*}}", "", ring.read_text())
    text = re.sub(r"\n        \$crate::call_for_each! { \$callback\n        }", "", text)
    ring.write_text(text)
    tests = sources / "crates/ctru-math/tests/exhaust"
    (tests / "main.rs").write_text("//! Proofs.\nmod products;\n")
    for proofs in [*(sources / MATH / "mul/rns_ntt/proofs").glob("*.rs"), tests / "products.rs"]:
        text = re.sub(rf"\n    \w+_({OTHER_RINGS}): .*", "", proofs.read_text())
        proofs.write_text(re.sub(rf",\s+R({OTHER_RINGS})\b", "", text))
    manifest = sources / "tests/Cargo.toml"
    dependencies = "[dependencies]\nctru-math.workspace = true\n"
    manifest.write_text(manifest.read_text().split("[features]")[0] + dependencies)
    library = "//! Checks.\npub mod backends;\npub mod exhaust;\n"
    (sources / "tests/src/lib.rs").write_text(library)


def prove(scratch):
    """Returns what finds the fault: a proof of a step, or else one of whole products."""
    found = run(scratch / "steps", ["--lib", "proofs"])
    return run(scratch / "products", ["--test", "exhaust"]) if found == "nothing" else found


def run(sources, tests):
    """Runs tests, and returns those that failed."""
    environment = os.environ | {"CARGO_INCREMENTAL": "1", "RUST_BACKTRACE": "0"}
    environment |= {"CARGO_PROFILE_DEV_OPT_LEVEL": "1"}
    process = subprocess.Popen(
        ["cargo", "test", "-q", "-p", "ctru-math", *tests],
        cwd=sources,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "no end"
    if process.returncode == 0:
        return "nothing"
    failed = re.findall(r"^    ([\w:]+)::sample$", output, re.M)
    if failed:
        names = sorted({re.sub(r"_\d+$", "", name.split("proofs::")[-1]) for name in failed})
        return " ".join(names)
    if re.search(r"error\[E0080\]", output):
        return "bounds in const code"
    return "not Rust" if "error" in output and "signal" not in output else "crash"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--known", type=pathlib.Path)
    options = parser.parse_args()
    rows = options.known.read_text().splitlines() if options.known else []
    known = dict(row.rsplit("\t", 1) for row in rows)
    draw = random.Random(options.seed)
    copy(options.scratch)
    assert prove(options.scratch) == "nothing", "the proofs fail without a fault"
    planted = set()
    while len(planted) < options.count:
        name = draw.choice(FILES)
        paths = [options.scratch / part / MATH / name for part in ("steps", "products")]
        text = paths[0].read_text()
        kind = draw.choice(sorted(KINDS))
        of_kind = [site for site in sites(text) if site[1] == kind]
        if not of_kind:
            continue
        number, _, changed = draw.choice(of_kind)
        lines = text.split("\n")
        before, lines[number] = lines[number], changed
        if (name, number, changed) in planted:
            continue
        row = "\t".join([name, str(number + 1), kind, before.strip(), changed.strip()])
        found = known.get(row)
        if found is None:
            for path in paths:
                path.write_text("\n".join(lines))
            found = prove(options.scratch)
            for path in paths:
                path.write_text(text)
        if found == "not Rust":
            continue
        planted.add((name, number, changed))
        print(f"{row}\t{found}", flush=True)


if __name__ == "__main__":
    main()
