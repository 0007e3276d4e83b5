#!/bin/busybox sh
# The first process of a guest: makes the machine that stories expect, does what /plan says, and tells of it on the
# second serial line in lines that begin with @@ (read by xtask/src/vm/guest.rs).

/bin/busybox mkdir -p /proc /sys /dev /run /tmp /etc /var/lib
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin:/opt HOME=/tmp FILTERD_BIN=/opt/filterd

mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t securityfs securityfs /sys/kernel/security
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
echo 'nobody:x:65534:65534::/:/bin/false' >>/etc/passwd
echo 'root:x:0:' >/etc/group

# A board for arm64 has one line of its own, so there the second is the first on a card.
wire=/dev/ttyS1
[ -e /dev/ttyAMA0 ] && wire=/dev/ttyS0
exec </dev/null >$wire 2>&1
ip link set lo up
echo '@@ booted'

# Runs a test program under a name, after the words that change what it may do.
stage() {
    echo "@@ begin $1"
    shift
    "$@"
    echo "@@ end $?"
}

# aya reads the types of the whole kernel whenever it loads a program, and drops them unread where it is told to, as filterd
# does. Under emulation that is four fifths of every load, so the rings go without. Guests with a console keep them.
hide_types() {
    [ -e /sys/kernel/btf/vmlinux ] && mount --bind /dev/null /sys/kernel/btf/vmlinux
}

# Does what comes over the wire, line by line, and tells how each line ended (read by tests/guest/guest.rs).
console() {
    # This shell would take busybox's, which knows fewer words.
    ip() { /usr/bin/ip "$@"; }
    stty -echo -onlcr
    echo '@@ listening'
    while read -r line; do
        eval "$line" </dev/null
        echo "@@ exit $?"
    done
}

while read -r module; do insmod "/modules/$module" || stage modules false; done </modules/order

grep -q -E 'console|shell' /plan || hide_types

# A client waits longer here than its usual five seconds (tests/harness/home.rs).
export FILTERD_PATIENT=1

while read -r name arguments; do
    case $name in
        # cttyhack would take the kernel's line. The first line that a session opens is the one it is controlled by.
        shell) setsid sh -c "exec sh <$wire >$wire 2>&1" ;;
        console) console <$wire ;;
        program) stage "$name" /opt/program --show-output $arguments ;;
        # Two at a time: while one waits for a clock, the other goes on.
        network) stage "$name" /opt/network --test-threads=2 --show-output $arguments ;;
        # Which judges the stages of the verifier try that follow (tests/vm/main.rs).
        whole | covering) export FILTERD_VERIFIER="$name" ;;
        verifier) stage "$name" /opt/verifier --nocapture $arguments ;;
        verifier-under-lockdown)
            echo confidentiality >/sys/kernel/security/lockdown
            stage "$name" /opt/verifier --nocapture $arguments
            ;;
    esac </dev/null
done </plan

echo '@@ done'
poweroff -f
