"""What the pages about Python print runs."""

import os
import re
import subprocess
import sys

import pytest

from cluster import ROOT
from test_contract import counted, run_pytest
from test_readme import ADDRESSES


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


@pytest.mark.slow
def test_the_contract_of_the_page_holds(cluster, tmp_path):
    (code,) = [code for code in blocks("python-memory.md") if "# test_memory.py" in code]
    (tmp_path / "test_memory.py").write_text(code.replace(ADDRESSES, cluster.addresses))
    done = run_pytest(tmp_path, "-q")
    assert counted(done)["passed"] > 30 and "failed" not in counted(done), done.stdout
