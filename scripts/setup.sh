#!/bin/sh
# Installs what is missing, with the system's packages, and nothing where
# nothing is missing.
#
#   scripts/setup.sh demo   a Chromium
#   scripts/setup.sh chromium   the same, also without Go: browserd install
#   scripts/setup.sh test   Chromium's headless shell and full Chromium,
#                           PostgreSQL and HAProxy (never started but by the
#                           tests), the C compiler that Go's race detector links with, what
#                           packs for pip, a screen of memory (Xvfb, xdotool), curl
#
# It asks for root by sudo, and where that cannot be had says which command to
# run. A Chromium of your own: set BROWSERD_BROWSER__PATH, and none is installed.
set -eu

what=${1:-demo}
again=make
if [ "$what" = chromium ]; then again="browserd install"; fi

say() { printf 'setup: %s\n' "$*" >&2; }

die() {
	say "$@"
	exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# any FILE...: whether one of them can be run, on PATH or as a path.
any() {
	for f in "$@"; do
		if have "$f"; then return 0; fi
	done
	return 1
}

has_shell() {
	any chromium-headless-shell chrome-headless-shell headless-shell headless_shell \
		/usr/lib/chromium/chromium-headless-shell \
		/usr/lib64/chromium-browser/headless_shell /usr/lib/chromium-browser/headless_shell
}

# Ubuntu's chromium-browser is a script that asks for the snap: only what it
# would start counts.
has_browser() {
	any chromium google-chrome-stable google-chrome /opt/google/chrome/chrome \
		/usr/lib64/chromium-browser/chromium-browser \
		/snap/chromium/current/usr/lib/chromium-browser/chrome \
		"/Applications/Chromium.app/Contents/MacOS/Chromium" \
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
}

# packs_for_pip: whether a Python has all that the packages of a release need.
packs_for_pip() {
	for python in python3 /usr/bin/python3; do
		if "$python" -c 'import setuptools, wheel, pip, venv, ensurepip' 2>/dev/null; then return 0; fi
	done
	return 1
}

# has_display: a screen for tests in which a person presses a button of Chromium's.
has_display() { have Xvfb && have xdotool; }

has_postgres() { any initdb /usr/lib/postgresql/*/bin/initdb; }

# has_haproxy: the load balancer before the daemons of a fleet.
has_haproxy() { any haproxy /usr/sbin/haproxy; }

# root_for COMMANDS: stops here, with the commands to run, where this user may
# not become root.
root_for() {
	if [ "$(id -u)" = 0 ]; then return 0; fi
	if have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then return 0; fi
	die "this user may not install packages. As root, run: $*
then run $again again"
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		say "sudo $*"
		sudo "$@"
	fi
}

# installable PACKAGE: whether apt has it, not only its name.
installable() { apt-cache show "$1" >/dev/null 2>&1; }

setup_debian() {
	set --
	if [ -n "$need_cc" ]; then set -- "$@" gcc libc6-dev; fi
	if [ -n "$need_shell" ]; then set -- "$@" chromium-headless-shell fonts-liberation; fi
	if [ -n "$need_browser" ]; then set -- "$@" chromium chromium-sandbox fonts-liberation; fi
	if [ -n "$need_postgres" ]; then set -- "$@" postgresql; fi
	if [ -n "$need_haproxy" ]; then set -- "$@" haproxy; fi
	if [ -n "$need_python" ]; then set -- "$@" python3-pip python3-setuptools python3-venv python3-wheel; fi
	if [ -n "$need_display" ]; then set -- "$@" xvfb xdotool; fi
	if [ -n "$need_curl" ]; then set -- "$@" curl; fi
	root_for "apt-get update && apt-get install -y --no-install-recommends $*"
	as_root apt-get update -q
	if [ "$id" = ubuntu ] && ! installable chromium-headless-shell; then
		setup_ubuntu
		return
	fi
	say "installing $*"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# Ubuntu packages Chromium as a snap only, and no headless shell.
setup_ubuntu() {
	set --
	if [ -n "$need_cc" ]; then set -- "$@" gcc libc6-dev; fi
	if [ -n "$need_postgres" ]; then set -- "$@" postgresql; fi
	if [ -n "$need_haproxy" ]; then set -- "$@" haproxy; fi
	if [ -n "$need_python" ]; then set -- "$@" python3-pip python3-setuptools python3-venv python3-wheel; fi
	if [ -n "$need_display" ]; then set -- "$@" xvfb xdotool; fi
	if [ -n "$need_curl" ]; then set -- "$@" curl; fi
	if [ $# -gt 0 ]; then
		say "installing $*"
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
	fi
	if [ -z "$need_shell$need_browser" ]; then
		return 0
	elif [ -S /run/snapd.socket ] && have snap; then
		say "installing the snap chromium"
		as_root snap install chromium
	else
		die "Ubuntu has Chromium only as a snap, and snapd does not run here. Install Google's package:
  curl -fsSLO https://dl.google.com/linux/direct/google-chrome-stable_current_amd64.deb
  apt-get install -y ./google-chrome-stable_current_amd64.deb
then run $again again"
	fi
}

setup_fedora() {
	set --
	if [ -n "$need_cc" ]; then set -- "$@" gcc; fi
	if [ -n "$need_shell" ]; then set -- "$@" chromium-headless liberation-fonts; fi
	if [ -n "$need_browser" ]; then set -- "$@" chromium liberation-fonts; fi
	if [ -n "$need_postgres" ]; then set -- "$@" postgresql-server; fi
	if [ -n "$need_haproxy" ]; then set -- "$@" haproxy; fi
	if [ -n "$need_python" ]; then set -- "$@" python3-pip python3-setuptools python3-wheel; fi
	if [ -n "$need_display" ]; then set -- "$@" xorg-x11-server-Xvfb xdotool; fi
	if [ -n "$need_curl" ]; then set -- "$@" curl; fi
	root_for "dnf install -y $*"
	say "installing $*"
	as_root dnf install -y "$@"
}

[ "$what" = chromium ] || have go || die "Go is not installed, or not on PATH: https://go.dev/dl/"

id= like=
if [ -r /etc/os-release ]; then
	id=$(. /etc/os-release && echo "${ID:-}")
	like=$(. /etc/os-release && echo "${ID_LIKE:-}")
fi

need_cc= need_shell= need_browser= need_postgres= need_haproxy= need_python= need_display= need_curl=
case $what in
demo | chromium)
	if [ -z "${BROWSERD_BROWSER__PATH:-}" ] && ! has_shell && ! has_browser; then need_shell=yes; fi
	;;
test)
	if ! any gcc clang cc; then need_cc=yes; fi
	if ! has_postgres; then need_postgres=yes; fi
	if ! has_haproxy; then need_haproxy=yes; fi
	if [ "$(uname)" = Linux ] && ! has_display; then need_display=yes; fi
	if ! have curl; then need_curl=yes; fi
	if ! packs_for_pip; then need_python=yes; fi
	if ! has_browser; then need_browser=yes; fi
	# Ubuntu has no headless shell: there the browser is used alone.
	if ! has_shell && ! { [ "$id" = ubuntu ] && has_browser; }; then need_shell=yes; fi
	;;
*) die "usage: scripts/setup.sh demo|chromium|test" ;;
esac
if [ -z "$need_cc$need_shell$need_browser$need_postgres$need_haproxy$need_python$need_display$need_curl" ]; then exit 0; fi

case " $id $like " in
*" debian "* | *" ubuntu "*) setup_debian ;;
*" fedora "* | *" rhel "*) setup_fedora ;;
*)
	if [ -n "$need_cc" ]; then say "a C compiler is missing: Go's race detector needs one"; fi
	if [ -n "$need_python" ]; then say "a Python with pip, setuptools, venv and wheel is missing"; fi
	if has_browser || has_shell; then
		if [ -n "$need_shell$need_browser" ]; then say "only one of Chromium's builds is here; the tests use it alone"; fi
		if [ -z "$need_cc" ]; then exit 0; fi
		exit 1
	fi
	die "there is no Chromium, and this is not Debian, Ubuntu or Fedora: install it, or set BROWSERD_BROWSER__PATH"
	;;
esac
