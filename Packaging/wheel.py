#!/usr/bin/env python3
"""Put the program into the pure wheel:  Packaging/wheel.py PURE.whl PROGRAM LICENSES FOLDER

The result in FOLDER has the tag linux_MACHINE; 'auditwheel repair' adds the libraries and proves the tag manylinux_…. The
program is beside the package's modules, where the package looks first, and 'easim' on the PATH starts it.
"""
import base64
import hashlib
import os
import pathlib
import platform
import sys
import time
import zipfile


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main():
    pure, program, licenses, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
    name, version = pure.name.split("-")[:2]
    tag = f"py3-none-linux_{platform.machine()}"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(pure) as wheel:
        files = {entry: wheel.read(entry) for entry in wheel.namelist()}
    about = files[f"{info}/WHEEL"].decode()
    assert "Root-Is-Purelib: true" in about and "Tag: py3-none-any" in about, about
    files[f"{info}/WHEEL"] = about.replace("Purelib: true", "Purelib: false").replace("Tag: py3-none-any", f"Tag: {tag}").encode()
    files[f"{info}/entry_points.txt"] = (
        b"[console_scripts]\neasim = easim._program:main\n\n" + files[f"{info}/entry_points.txt"])
    files[f"{name}/easim"] = program.read_bytes()
    for path in licenses.iterdir():
        files[f"{info}/licenses/{path.name}"] = path.read_bytes()
    record = f"{info}/RECORD"
    del files[record]
    lines = [f"{path},{digest(data)},{len(data)}" for path, data in sorted(files.items())]
    files[record] = ("\n".join(lines + [f"{record},,"]) + "\n").encode()
    # ZIP has no dates before 1980.
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in sorted(files.items()):
            entry = zipfile.ZipInfo(path, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path == f"{name}/easim" else 0o100644) << 16
            wheel.writestr(entry, data)


main()
