"""What comes out of Debian's kernel package: a kernel that QEMU starts at once, and modules in the order to load them."""
import glob
import lzma
import os
import re
import shutil
import struct
import subprocess


def start_image(compressed):
    """The uncompressed kernel out of a bzImage. QEMU starts it without firmware, and the guest, whose processor may be
    emulated, has nothing to unpack."""
    if compressed[0x202:0x206] != b"HdrS":
        raise SystemExit("the kernel package holds no bzImage")
    offset, length = struct.unpack_from("<II", compressed, 0x248)
    start = ((compressed[0x1F1] or 4) + 1) * 512 + offset
    payload = compressed[start:start + length]
    if payload[:6] == b"\xfd7zXZ\0":
        image = lzma.LZMADecompressor().decompress(payload)
    elif payload[:4] == b"\x28\xb5\x2f\xfd":
        if not shutil.which("zstd"):
            raise SystemExit("the kernel is packed with zstd: apt-get install zstd")
        # The last four bytes are the size, which the kernel's build appends.
        image = subprocess.run(["zstd", "-dc"], input=payload[:-4], stdout=subprocess.PIPE, check=True).stdout
    else:
        image = payload
    if image[:4] != b"\x7fELF":
        raise SystemExit(f"the kernel is packed in an unknown way: {payload[:8]!r}")
    return image


class Modules:
    """The modules of an unpacked kernel package."""

    def __init__(self, package):
        roots = glob.glob(package + "/lib/modules/*") + glob.glob(package + "/usr/lib/modules/*")
        if not roots:
            raise SystemExit(f"no modules in {package}")
        self.files = {}
        for folder, _, names in os.walk(roots[0] + "/kernel"):
            for name in names:
                match = re.match(r"(.+)\.ko(\.xz)?$", name)
                if match:
                    self.files[match.group(1).replace("-", "_")] = os.path.join(folder, name)
        with open(roots[0] + "/modules.builtin") as file:
            self.built_in = {os.path.basename(line.strip())[:-3].replace("-", "_") for line in file}

    def read(self, name):
        path = self.files[name]
        with open(path, "rb") as file:
            data = file.read()
        if path.endswith(".xz"):
            data = lzma.decompress(data)
        # A module is loaded even without its signature, which spares an emulated processor the arithmetic.
        end = b"~Module signature appended~\n"
        if data.endswith(end):
            length = struct.unpack(">I", data[-len(end) - 4:-len(end)])[0]
            data = data[:-len(end) - 12 - length]
        return data

    def order(self, name, before=None):
        """A module and all it needs, in the order to load them."""
        order = [] if before is None else before
        name = name.replace("-", "_")
        if name in self.built_in or name in order:
            return order
        if name not in self.files:
            raise SystemExit(f"this kernel has no module {name}")
        match = re.search(rb"\0depends=([^\0]*)\0", self.read(name))
        for needed in match.group(1).decode().split(",") if match else []:
            if needed:
                self.order(needed, order)
        order.append(name)
        return order
