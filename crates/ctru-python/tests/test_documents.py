"""Runs the examples of the guide and of the README, each in a process of its own."""

import importlib.util
import re
import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = [
    pytest.param(code, id=f"{name}-{number}")
    for name in ("docs/python.md", "crates/ctru-python/README.md")
    for number, code in enumerate(
        re.findall(r"^```python\n(.*?)^```$", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
    )
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_example(code, tmp_path):
    if "ctru.ray" in code and importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=300)


def test_there_are_examples():
    assert len(EXAMPLES) >= 7
