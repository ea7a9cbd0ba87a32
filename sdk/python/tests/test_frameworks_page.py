"""What the page about frameworks prints runs: here, and with the wheel in a fresh environment for each."""

import os
import re
import subprocess
import sys

import pytest

from cluster import ROOT
from test_readme import ADDRESSES, built, fresh


def sections():
    """The sections that install something and print a program."""
    page = (ROOT / "docs" / "python-frameworks.md").read_text()
    return [part for part in re.split(r"^## ", page, flags=re.MULTILINE) if "```sh\npip" in part]


def run_blocks(python, cluster, section, directory, environment):
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert blocks
    for code in blocks:
        assert ADDRESSES in code
        script = directory / "block.py"
        script.write_text(code.replace(ADDRESSES, cluster.addresses))
        done = subprocess.run([python, script], capture_output=True, text=True, env=environment, cwd=directory)
        assert done.returncode == 0, f"{code}\n{done.stderr}"


each = pytest.mark.parametrize("section", sections(), ids=lambda section: section.split("\n")[0])


@pytest.mark.slow
@each
def test_a_section(cluster, tmp_path, section):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "sdk" / "python" / "src")}
    run_blocks(sys.executable, cluster, section, tmp_path, environment)


@pytest.mark.slow
@each
def test_a_section_in_a_fresh_environment(cluster, tmp_path, section):
    wheel, _ = built(tmp_path)
    python = fresh(tmp_path)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    (install,) = re.findall(r"```sh\npip install (.*?)\n```", section)
    wanted = install.replace("'", "").replace("turnlog[", f"{wheel}[").split()
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True, env=environment)
    run_blocks(python, cluster, section, tmp_path, environment)
