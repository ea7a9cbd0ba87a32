"""What the README prints runs, with the wheel in a fresh environment."""

import os
import pathlib
import re
import subprocess
import sys
import venv

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
ADDRESSES = "127.0.0.1:7379,127.0.0.1:7389,127.0.0.1:7399"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)


@pytest.mark.slow
def test_a_fresh_environment(cluster, tmp_path):
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(PACKAGE)]
    subprocess.run(build, check=True, capture_output=True)
    wheel, sdist = next(tmp_path.glob("*.whl")), next(tmp_path.glob("*.tar.gz"))
    assert wheel.name.startswith("turnlog-") and sdist.name.startswith("turnlog-")
    fresh = tmp_path / "fresh"
    venv.create(fresh, with_pip=True)
    python = fresh / "bin" / "python"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    for line in blocks("sh"):
        words = line.strip().replace("pip install turnlog", f"-m pip install --quiet {wheel}").split()
        subprocess.run([python, *words], check=True, capture_output=True, env=environment)
    for i, code in enumerate(blocks("python")):
        assert ADDRESSES in code
        script = tmp_path / f"block{i}.py"
        script.write_text(code.replace(ADDRESSES, cluster.addresses))
        done = subprocess.run([python, script], capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
    found = "import importlib.metadata as m, importlib.util as u; (p,) = m.entry_points(group='pytest11')"
    subprocess.run([python, "-c", f"{found}; assert u.find_spec(p.value)"], check=True, env=environment, cwd=tmp_path)
