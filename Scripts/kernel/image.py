#!/usr/bin/env python3
"""Makes what every guest starts with, in the cache folder that is its argument: `start` (the kernel) and `base` (busybox,
udev, the modules, the first process)."""
import glob
import os
import subprocess
import sys

from archive import Archive
from kernel import Modules, start_image

# What each set loads, with all that it needs.
SETS = {
    "base": ["virtio_pci", "virtio_console", "virtio_blk"],
    "vhci": ["vhci-hcd"],
    "usbmon": ["usbmon"],
    "dummy": ["dummy_hcd", "usb_f_fs"],
    # btvirt, which plays the controllers, does its cryptography by the kernel.
    "bt": ["hci_vhci", "rfcomm", "uhid", "algif_hash", "algif_skcipher", "ecb", "cmac", "aes_generic"],
}

PASSWD = b"root:x:0:0:root:/root:/bin/sh\nmessagebus:x:100:101::/:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\nqa:x:1000:1000:qa:/tmp:/bin/sh\n"
GROUP = b"root:x:0:\nmessagebus:x:101:\nbluetooth:x:102:\nplugdev:x:46:qa\nqa:x:1000:\nnogroup:x:65534:\n"


def make(cache):
    kernels = glob.glob(cache + "/kernel/boot/vmlinuz-*")
    with open(kernels[0], "rb") as file:
        image = start_image(file.read())
    with open(cache + "/start", "wb") as file:
        file.write(image)
    with Archive(cache + "/base") as archive:
        fill(archive, cache)


def fill(archive, cache):
    for folder in "proc sys dev run root mnt etc bin sbin usr/bin usr/sbin var".split():
        archive.folder(folder)
    archive.folder("tmp", 0o1777)
    archive.device("dev/console", 5, 1, 0o600)
    archive.device("dev/null", 1, 3, 0o666)
    archive.data("etc/passwd", PASSWD)
    archive.data("etc/group", GROUP)
    archive.data("etc/hosts", b"127.0.0.1 localhost\n")
    archive.data("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files\n")
    archive.link("var/run", "/run")
    archive.program("/bin/busybox", "bin/busybox")
    applets = subprocess.run(["/bin/busybox", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for applet in applets.split():
        if applet not in ("busybox", "init"):
            archive.link("bin/" + applet, "busybox")
    here = os.path.dirname(os.path.abspath(__file__))
    with open(here + "/init.sh", "rb") as file:
        archive.data("init", file.read(), 0o755)

    # The daemon is one program with udevadm. Rules beyond these only cost time.
    udev = cache + "/udev"
    archive.program(udev + "/bin/udevadm", "bin/udevadm", library_folder=udev)
    archive.link("lib/systemd/systemd-udevd", "/bin/udevadm")
    with open(udev + "/lib/udev/rules.d/50-udev-default.rules", "rb") as file:
        archive.data("lib/udev/rules.d/50-udev-default.rules", file.read())
    archive.data("etc/udev/udev.conf", b"")

    modules = Modules(cache + "/kernel")
    for name, wanted in SETS.items():
        order = []
        for module in wanted:
            modules.order(module, order)
        archive.data("easim/modules/" + name, "".join(f"/easim/ko/{module}.ko\n" for module in order).encode())
        for module in order:
            archive.data(f"easim/ko/{module}.ko", modules.read(module))


make(sys.argv[1])
