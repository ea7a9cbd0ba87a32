"""What the README prints runs, with the wheel in a fresh environment."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import venv

import pytest

import turnlog
from cluster import BINARY

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
ADDRESSES = "127.0.0.1:7379,127.0.0.1:7389,127.0.0.1:7399"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)


def built(directory):
    """Build the wheel and the sdist, and the server's wheel of the binary under test, which pip finds there."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), str(PACKAGE)]
    subprocess.run(build, check=True, capture_output=True)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    pack = [sys.executable, PACKAGE.parent / "server" / "wheel.py", BINARY, f"{sys.platform}/{machine}", directory]
    subprocess.run(pack, check=True, capture_output=True)
    return next(directory.glob("turnlog-*.whl")), next(directory.glob("*.tar.gz"))


def install(directory, line):
    """Run the line of a page that installs something in a fresh environment, as the README says to before
    there is a release: pip finds what was built. Return its Python, and the variables of its programs.
    """
    built(directory)
    venv.create(directory / "fresh", with_pip=True)
    programs = directory / "fresh" / "bin"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    found = {"PIP_FIND_LINKS": str(directory), "PIP_QUIET": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    assert line.startswith("pip install ")
    subprocess.run(["bash", "-ec", line], check=True, env=environment | found, cwd=directory)
    return programs / "python", environment


@pytest.mark.slow
def test_the_server_comes_with_the_package(ports, tmp_path):
    """`pip install turnlog && turnlog dev`, and a client that stays without the server."""
    wheel, _ = built(tmp_path)
    venv.create(tmp_path / "fresh", with_pip=True)
    programs = tmp_path / "fresh" / "bin"
    pip = [programs / "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--find-links", tmp_path, wheel], check=True, capture_output=True)
    base, *_ = ports(23, in_a_row=True)
    command = [programs / "turnlog", "dev", "--port-base", str(base), "--data-dir", tmp_path / "dev"]
    with open(tmp_path / "dev.log", "wb") as log:
        dev = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with turnlog.Client(f"127.0.0.1:{base}", retry_for=60) as client:
            assert client.session("first").append("hello").last_seq == 1
    finally:
        dev.terminate()
        assert dev.wait(60) == 0, (tmp_path / "dev.log").read_text()
    subprocess.run([*pip, "uninstall", "--yes", "turnlog-server"], check=True, capture_output=True)
    assert shutil.which("turnlog", path=str(programs)) is None
    subprocess.run([programs / "python", "-c", "import turnlog"], check=True, cwd=tmp_path)


@pytest.mark.slow
def test_a_fresh_environment(cluster, tmp_path):
    (line,) = blocks("sh")
    python, environment = install(tmp_path, line)
    for i, code in enumerate(blocks("python")):
        assert ADDRESSES in code
        script = tmp_path / f"block{i}.py"
        script.write_text(code.replace(ADDRESSES, cluster.addresses))
        done = subprocess.run([python, script], capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
    found = "import importlib.metadata as m, importlib.util as u; (p,) = m.entry_points(group='pytest11')"
    subprocess.run([python, "-c", f"{found}; assert u.find_spec(p.value)"], check=True, env=environment, cwd=tmp_path)
