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


def built(directory):
    """Build the wheel and the sdist."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), str(PACKAGE)]
    subprocess.run(build, check=True, capture_output=True)
    return next(directory.glob("*.whl")), next(directory.glob("*.tar.gz"))


def fresh(directory):
    """Make an environment, and return its Python."""
    venv.create(directory / "fresh", with_pip=True)
    return directory / "fresh" / "bin" / "python"


@pytest.mark.slow
def test_a_fresh_environment(cluster, tmp_path):
    wheel, sdist = built(tmp_path)
    assert wheel.name.startswith("turnlog-") and sdist.name.startswith("turnlog-")
    python = fresh(tmp_path)
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
