"""Packs a binary as a wheel of turnlog-server: python3 wheel.py BINARY GOOS/GOARCH DIRECTORY.

The same binary gives the same bytes. The wheel puts the binary beside Python's own programs, and holds
no module. A BINARY.cdx.json beside it becomes the wheel's SBOM.
"""

import base64
import hashlib
import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The binary is static: it runs with any C library, and needs Linux 3.2 and macOS 12, as Go does.
TAGS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
}
METADATA = """\
Metadata-Version: 2.4
Name: turnlog-server
Version: {version}
Summary: The server and the command line of turnlog, a replicated memory for AI agents
Requires-Python: >=3.8
License-Expression: MIT
License-File: LICENSE
Project-URL: Source, https://github.com/turnlog/turnlog
Description-Content-Type: text/markdown

The program `turnlog`: `turnlog dev` runs a cluster of three nodes on one machine, `turnlog serve` a
node, and `turnlog --help` lists the other commands. The Python client is
[turnlog](https://pypi.org/project/turnlog/), which installs this package too and works without it.
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: turnlog
Root-Is-Purelib: false
"""


def python_version(version):
    """0.1.0-dev.0 as Python writes it, 0.1.0.dev0; likewise 0.1.0-rc.1, 0.1.0rc1."""
    release, _, rest = version.partition("-")
    rest = re.sub(r"^(alpha|beta)", lambda m: m[0][0], rest.replace(".", ""))
    return release + ("." if rest.startswith("dev") else "") + rest


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def pack(binary, platform, directory):
    version = python_version((ROOT / "VERSION").read_text().strip())
    name = f"turnlog_server-{version}"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in TAGS[platform].split("."))
    files = {
        f"{name}.data/scripts/turnlog": (binary.read_bytes(), 0o755),
        f"{name}.dist-info/METADATA": (METADATA.format(version=version).encode(), 0o644),
        f"{name}.dist-info/WHEEL": ((WHEEL + tags).encode(), 0o644),
        f"{name}.dist-info/licenses/LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
    }
    sbom = binary.with_name(binary.name + ".cdx.json")
    if sbom.exists():
        files[f"{name}.dist-info/sboms/turnlog.cdx.json"] = (sbom.read_bytes(), 0o644)
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, (data, _) in files.items())
    files[f"{name}.dist-info/RECORD"] = (f"{record}{name}.dist-info/RECORD,,\n".encode(), 0o644)
    wheel = directory / f"{name}-py3-none-{TAGS[platform]}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for path, (data, mode) in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, data)
    return wheel


if __name__ == "__main__":
    print(pack(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])))
