"""Writes initramfs archives: cpio in its "newc" form, without cpio(1) and without root.

The kernel unpacks archives that stand behind one another, so a guest is one archive made once (what every guest has) and
a small one made for each run (what is tested, and what it links to).
"""
import os
import re
import stat
import subprocess


class Archive:
    """An archive being written; every entry has the folders above it made first, and none is written twice."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.names = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._entry("TRAILER!!!", 0)
        # The next archive has to begin at a multiple of four; disks count in 512.
        self.file.write(b"\0" * (-self.file.tell() % 512))
        self.file.close()

    def folder(self, name, mode=0o755):
        self._above(name)
        self._entry(name, stat.S_IFDIR | mode)

    def link(self, name, target):
        self._above(name)
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name, major, minor, mode):
        self._above(name)
        self._entry(name, stat.S_IFCHR | mode, b"", (major, minor))

    def data(self, name, data, mode=0o644):
        self._above(name)
        self._entry(name, stat.S_IFREG | mode, data)

    def program(self, path, name, library_folder=None):
        """A file under a name, and, where it is a program, the libraries that the loader finds for it.

        library_folder: an unpacked package whose libraries count as well, each at its place in the system.
        """
        with open(path, "rb") as file:
            self.data(name, file.read(), stat.S_IMODE(os.stat(path).st_mode) | 0o444)
        for library in _libraries(path, library_folder):
            place = library
            if library_folder and library.startswith(library_folder):
                place = library[len(library_folder):]
            with open(library, "rb") as file:
                self.data(os.path.normpath(place), file.read(), 0o755)

    def _above(self, name):
        parts = name.strip("/").split("/")[:-1]
        for count in range(1, len(parts) + 1):
            self._entry("/".join(parts[:count]), stat.S_IFDIR | 0o755)

    def _entry(self, name, mode, data=b"", device=(0, 0)):
        name = name.strip("/")
        if name in self.names:
            return
        self.names.add(name)
        text = name.encode() + b"\0"
        fields = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(text), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + text
        self.file.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))


def _libraries(path, library_folder):
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    environment = dict(os.environ)
    if library_folder:
        environment["LD_LIBRARY_PATH"] = library_folder + "/usr/lib/x86_64-linux-gnu"
    told = subprocess.run(["ldd", path], env=environment, capture_output=True, text=True).stdout
    missing = [line.strip() for line in told.splitlines() if "not found" in line]
    if missing:
        raise SystemExit(f"{path}: {missing[0]}")
    return re.findall(r"(?:=>\s*)?(/\S+)\s+\(0x", told)
