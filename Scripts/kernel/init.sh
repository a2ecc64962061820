#!/bin/busybox sh
# The first process of the guest: loads what USB needs, freezes until it is given something to run, runs it, ends.
#
# The words on the kernel's command line: easim.modules=vhci,dummy.
# Output, errors and the result leave by ports named easim.out, easim.err and easim.result; easim.go tells a guest that was
# restored from its snapshot that it may go on.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/root TERM=dumb LANG=C.UTF-8
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
$b mkdir -p /dev/pts /dev/shm /dev/virtio-ports
$b mount -t tmpfs tmpfs /run
$b mount -t tmpfs tmpfs /tmp
$b chmod 1777 /tmp
load() {
  while read -r module; do
    name=${module##*/}
    [ -d "/sys/module/${name%.ko}" ] || $b insmod "$module" || echo "init: $module cannot be loaded"
  done <"/easim/modules/$1"
}
load base
$b ip link set lo up
$b mount -t devpts devpts /dev/pts
$b mount -t tmpfs tmpfs /dev/shm
mkdir -p /run/udev
/lib/systemd/systemd-udevd --daemon --children-max=2 --resolve-names=early || echo "init: no udevd"
sets=
for word in $($b cat /proc/cmdline); do
  case $word in easim.modules=*) sets=${word#*=} ;; esac
done
for set in $(echo "$sets" | $b tr , ' '); do load "$set"; done
case $sets in *dummy*) $b mount -t configfs none /sys/kernel/config ;; esac
udevadm settle --timeout=10

# The names of the ports arrive a moment after their driver.
ports() {
  for port in /sys/class/virtio-ports/*; do
    [ -e "$port/name" ] && read -r name <"$port/name" && [ -n "$name" ] && ln -sf "/dev/${port##*/}" "/dev/virtio-ports/$name"
  done
  for name in out err result go; do [ -e "/dev/virtio-ports/easim.$name" ] || return 1; done
}
tries=0
until ports || [ $tries = 100 ]; do
  $b usleep 20000
  tries=$((tries + 1))
done

echo ready >/dev/virtio-ports/easim.result
# Frozen here: every copy that is restored is given its own time, its own randomness and its own disk.
# A read from a port that no process holds open ends at once.
until read -r now seed </dev/virtio-ports/easim.go && [ -n "$now" ]; do $b usleep 10000; done
$b date -s "@$now" >/dev/null
echo "$seed" >/dev/urandom
cd / && $b cpio -idu </dev/vda 2>/dev/null
if [ -d /etc/udev/rules.d ]; then udevadm control --reload; fi

/bin/sh /easim/run </dev/null >/dev/virtio-ports/easim.out 2>/dev/virtio-ports/easim.err
result=$?
$b sync
echo "$result" >/dev/virtio-ports/easim.result
# The exit device at port 0x501; where there is none, a reset, which QEMU takes for the end.
printf '\0' | $b dd of=/dev/port bs=1 seek=1281 conv=notrunc 2>/dev/null
$b reboot -f
