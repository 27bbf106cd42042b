"""Runs browserd. The first run fetches the archive of this package's release and takes
the program out of it, if the archive's SHA-256 is the one that this package holds."""

import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path

WINDOWS = os.name == "nt"
PROGRAM = "browserd.exe" if WINDOWS else "browserd"


def _cache_dir() -> Path:
    if WINDOWS:
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "browserd" / "programs"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "browserd" / "programs"


def _install(release: dict, dir: Path) -> None:
    machine = platform.machine().lower()
    arch = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(machine, machine)
    name = f"browserd_{release['version']}_{platform.system().lower()}_{arch}" + (".zip" if WINDOWS else ".tar.gz")
    want = release["sha256"].get(name)
    if not want:
        raise OSError(f"release {release['version']} has no program for {platform.system()} {machine}; "
                      "build it with: go install github.com/browserd/browserd/cmd/browserd@latest")
    # BROWSERD_RELEASES names a copy of the release's files. The checksum stays this package's.
    url = f"{os.environ.get('BROWSERD_RELEASES') or release['url']}/{name}"
    print(f"browserd: fetching {url}", file=sys.stderr)
    with urllib.request.urlopen(url) as answer:
        body = answer.read()
    got = hashlib.sha256(body).hexdigest()
    if got != want:
        raise OSError(f"{url} is not the file of the release: its SHA-256 is {got}, and {want} is expected; nothing was installed")
    if WINDOWS:
        program = zipfile.ZipFile(io.BytesIO(body)).read(PROGRAM)
    else:
        with tarfile.open(fileobj=io.BytesIO(body)) as archive:
            program = archive.extractfile(PROGRAM).read()
    dir.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = Path(tempfile.mkdtemp(prefix=dir.name + "-", dir=dir.parent))
    try:
        (made / PROGRAM).write_bytes(program)
        (made / PROGRAM).chmod(0o755)
        try:
            made.rename(dir)  # at once, also beside another first run
        except OSError:
            if not (dir / PROGRAM).exists():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def main() -> None:
    release = json.loads((Path(__file__).parent / "release.json").read_text())
    dir = _cache_dir() / release["version"]
    file = dir / PROGRAM
    try:
        if not file.exists():
            _install(release, dir)
        if not WINDOWS:
            os.execv(file, ["browserd", *sys.argv[1:]])
        sys.exit(subprocess.call([str(file), *sys.argv[1:]]))
    except OSError as err:
        sys.exit(f"browserd: {err}")
