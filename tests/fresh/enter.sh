#!/bin/sh
# Goes into a fresh root and does there what the file /todo says: called by xtask/src/fresh_root in namespaces of its own, so
# that whatever is mounted or left running here goes with it. $1 is the root.
set -eu
root=$1

mount --make-rprivate /
# What is entered must be a mount itself: `ip -n` changes how it is shared.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t bpf bpf "$root/sys/fs/bpf"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/run"

# The way into the network is the machine's own: who tells names, and whom to trust.
cp /etc/resolv.conf "$root/etc/resolv.conf"
exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb ${CI:+"CI=$CI"} \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -eu /todo
