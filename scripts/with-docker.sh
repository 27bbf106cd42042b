#!/bin/sh
# Runs a command beside a Docker engine of its own, and removes the engine and
# all that it held afterwards:
#
#   scripts/with-docker.sh go test ./e2e -run TestImage -v
#
# For Debian, as root. It installs docker.io, iptables and debootstrap where they
# are missing, and makes the base image with debootstrap, which checks the packages'
# signatures: nothing is pulled from a registry of images, so there is no digest here. The engine touches neither the firewall nor the routes
# of this machine. The command finds it by BROWSERD_TEST_DOCKER.
set -eu

[ $# -gt 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "with-docker: needs root" >&2; exit 1; }

set_up() {
	for tool in /usr/bin/docker /usr/sbin/dockerd /usr/sbin/iptables /usr/sbin/debootstrap; do
		if [ ! -x "$tool" ]; then
			apt-get update -q
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends docker.io iptables debootstrap
			return
		fi
	done
}
set_up >&2

dir=$(mktemp -d /tmp/browserd-docker-XXXXXX)
engine=
clean_up() {
	if [ -n "$engine" ]; then
		kill "$engine" 2>/dev/null || true
		wait "$engine" 2>/dev/null || true
		umount "$dir/exec/netns/default" 2>/dev/null || true
	fi
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

host=unix://$dir/docker.sock
/usr/sbin/dockerd --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/pid" -H "$host" \
	--iptables=false --ip-forward=false --ip-masq=false --bridge=none >"$dir/log" 2>&1 &
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

BROWSERD_TEST_DOCKER=$host "$@"
