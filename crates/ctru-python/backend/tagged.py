"""The build backend of maturin, for wheels whose tag names the glibc that they need.

Without an argument, maturin gives a wheel that pip builds the tag ``linux``, which pip installs on
every Linux, also on one whose glibc is older than the wheel needs.
"""

import os

from maturin import *  # noqa: F403

os.environ.setdefault("MATURIN_PEP517_ARGS", "--compatibility pypi")
