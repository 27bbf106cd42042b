#!/bin/sh
# Runs a command beside a Docker engine of its own, and removes the engine and
# all that it held afterwards:
#
#   scripts/with-docker.sh go test ./e2e -run TestImage -v
#
# For Debian, as root. It installs docker.io, iptables, debootstrap and slirp4netns where
# they are missing, and makes the base image with debootstrap, which checks the packages'
# signatures: nothing is pulled from a registry of images, so there is no digest here. The
# engine and the command run in a network namespace of their own, so that the engine's bridges
# and its firewall are none of this machine's. What is built, with --network host, reaches this
# machine's networks from there, by slirp4netns; containers on a bridge do not. The
# command finds the engine by BROWSERD_TEST_DOCKER.
set -eu

[ $# -gt 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "with-docker: needs root" >&2; exit 1; }

set_up() {
	for tool in /usr/bin/docker /usr/sbin/dockerd /usr/sbin/iptables /usr/sbin/debootstrap /usr/bin/slirp4netns /usr/sbin/ip; do
		if [ ! -x "$tool" ]; then
			apt-get update -q
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends docker.io iptables debootstrap slirp4netns iproute2
			return
		fi
	done
}
set_up >&2

dir=$(mktemp -d /tmp/browserd-docker-XXXXXX)
net=$(basename "$dir")
engine= network=
clean_up() {
	for process in $engine $network; do
		kill "$process" 2>/dev/null || true
		wait "$process" 2>/dev/null || true
	done
	ip netns del "$net" 2>/dev/null || true
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

ip netns add "$net"
# Not by ip netns exec, which hides the control groups in /sys.
inside() { nsenter --net="/run/netns/$net" "$@"; }
ip -n "$net" link set lo up
slirp4netns --configure --mtu=65520 --disable-host-loopback --netns-type=path "/run/netns/$net" tap0 >"$dir/network" 2>&1 &
network=$!
tries=0
until ip -n "$net" route | grep -q '^default'; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ] || ! kill -0 "$network" 2>/dev/null; then
		tail -5 "$dir/network" >&2
		echo "with-docker: the namespace gets no network" >&2
		exit 1
	fi
	sleep 0.1
done

host=unix://$dir/docker.sock
nsenter --net="/run/netns/$net" unshare --mount /usr/sbin/dockerd --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/pid" -H "$host" >"$dir/log" 2>&1 &
engine=$!
tries=0
until /usr/bin/docker -H "$host" version >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ] || ! kill -0 "$engine" 2>/dev/null; then
		tail -5 "$dir/log" >&2
		echo "with-docker: the engine does not start" >&2
		exit 1
	fi
	sleep 0.3
done
# DOCKER-USER is before the engine's own rules: nothing from a bridge leaves the namespace.
inside /usr/sbin/iptables -I DOCKER-USER -o tap0 -j REJECT

# debian:bookworm-slim, as far as the image of browserd needs it, and as slim.
base=$dir/base
# Its packages come from where this machine's own come from: debootstrap's usual
# mirror, and then the same sources.
/usr/sbin/debootstrap --variant=minbase --include=ca-certificates bookworm "$base" >&2
rm -f "$base/etc/apt/sources.list"
for sources in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
	if [ -f "$sources" ]; then cp "$sources" "$base$sources"; fi
done
cat >"$base/etc/dpkg/dpkg.cfg.d/docker" <<SLIM
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
SLIM
rm -rf "$base"/var/cache/apt/archives/*.deb "$base"/var/lib/apt/lists/* \
	"$base"/usr/share/locale/* "$base"/usr/share/man/*
find "$base/usr/share/doc" -type f ! -name copyright -delete
tar -C "$base" --numeric-owner -c . | /usr/bin/docker -H "$host" import - debian:bookworm-slim >&2
rm -rf "$base"

inside env BROWSERD_TEST_DOCKER="$host" "$@"
