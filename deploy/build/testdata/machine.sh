# usage: machine.sh DIR
# Becomes a machine: this one's file system, whose changes are kept in memory, with systemd as its first
# process. It is called within new namespaces; what it mounts ends with them.
set -eu
mount --make-rprivate /
mount -t tmpfs -o size=2g machine "$1"
cd "$1"
mkdir changes work root
mount -t overlay overlay -o lowerdir=/,upperdir=changes,workdir=work root
cd root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup sys/fs/cgroup
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mount -t tmpfs -o mode=755 dev dev
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
mknod -m 666 dev/ptmx c 5 2
mkdir dev/pts dev/shm dev/mqueue
mount -t devpts devpts dev/pts
ln -s /proc/self/fd dev/fd
# Nothing of this machine is started there, and nothing that is installed here is in the way.
: >etc/machine-id
rm -f var/lib/man-db/auto-update # minutes of work for man -k
rm -rf etc/turnlog var/lib/turnlog var/backups/turnlog etc/systemd/system/*.wants
ip link set lo up
mkdir .old
pivot_root . .old
umount -l .old
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --unit=basic.target --log-target=null --show-status=no
