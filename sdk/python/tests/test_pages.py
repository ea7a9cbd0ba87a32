"""What the pages about Python print runs."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from test_readme import ADDRESSES

ROOT = pathlib.Path(__file__).resolve().parents[3]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("code", blocks("python-memory.md"), ids=lambda code: code.split("\n")[1][:60])
def test_a_block(cluster, tmp_path, code):
    assert ADDRESSES in code
    script = tmp_path / "block.py"
    script.write_text(code.replace(ADDRESSES, cluster.addresses))
    environment = os.environ | {"PYTHONPATH": str(ROOT / "sdk" / "python" / "src")}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    assert "another request" not in done.stdout
