# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# lib.sh - what every script of this directory shares: where things are, how to
# talk to the person in front, and how to publish a thing once it is complete.
#
# Everything that can be made again lives in one cache, outside the checkout:
#
#	$CACHE/root-KEY/		Debian build root; KEY: the package lists
#	$CACHE/kernel-RELEASE-KEY/	kernel image, modules, prepared source tree;
#					KEY: the compilers of the root
#	$CACHE/kernel-FLAVOUR-VERSION-KEY/	debug kernel (kasan, kcsan) of the same
#					source; KEY: the compilers and its options
#	$CACHE/initramfs-KEY.zst	guest image; KEY: root, kernel, its recipe
#	$CACHE/checkout-KEY/		what is built from one checkout; KEY: its path
#	$CACHE/cargo/			crates, as downloaded
#	$CACHE/kvm-BOOT_ID		whether /dev/kvm works, asked once per boot
#	$CACHE/log/			what set-up printed
#
# A directory appears under its name only when it is complete, so its existence
# is all that needs checking, and a killed set-up leaves nothing half-made.

set -euo pipefail
umask 022

vm=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$vm/../.." && pwd)
CACHE=${STRACK_CACHE:-/var/cache/strack}
case $CACHE in
/*) ;;
*) echo "strack: error: STRACK_CACHE is '$CACHE': give an absolute path" >&2 && exit 1 ;;
esac
JOBS=${JOBS:-$(nproc)}
SLOW=${SLOW:-1}
# shellcheck disable=SC2034 # for the scripts that source this
SLOW_DEBUG=5 # how much slower a debug kernel is

# Kernels that the modules are written for: from KERNEL_MIN up to, but without,
# KERNEL_BELOW. Set-up takes the newest that Debian has at the time.
SUITE=trixie
FLAVOUR=cloud-amd64
KERNEL_MIN=7.3
KERNEL_BELOW=8.0

say() {
	echo "strack: $*" >&2
}

# die TEXT: one line that says what is wrong and what to do about it
die() {
	echo "strack: error: $*" >&2
	exit 1
}

# need_root SCRIPT ARGS...: go on as root, by sudo if necessary
need_root() {
	[ "$(id -u)" -ne 0 ] || return 0
	command -v sudo >/dev/null ||
		die "needs root to mount and to boot a guest: run it as root, or install sudo"
	local keep=() name
	for name in $(compgen -e); do
		passed_on "$name" && keep+=("$name=${!name}")
	done
	if [ ! -t 0 ]; then
		sudo -n true 2>/dev/null ||
			die "needs root, and sudo wants a password but there is no terminal: run it as root"
	fi
	exec sudo env "${keep[@]}" "$@"
}

# passed_on NAME: is this environment variable one that reaches sudo and the build root?
passed_on() {
	case $1 in
	STRACK_* | KSFT_* | PROPTEST_* | CARGO_NET_* | RUST_BACKTRACE | SLOW | JOBS | CI | V | TERM | SUDO_[UG]ID | \
		http_proxy | https_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | NO_PROXY) return 0 ;;
	esac
	return 1
}

# give_back PATH...: what root made in the checkout belongs to who asked for it
give_back() {
	[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$@"
}

# key: a short name for what stands on standard input
key() {
	sha256sum | cut -c1-12
}

root_dir() {
	echo "$CACHE/root-$( (echo "format 1 $SUITE"; cat "$vm/packages" "$vm/packages.backports") | key)"
}

# kernel_dir: the newest prepared kernel for this root's compilers, if any
kernel_dir() {
	local tools
	tools=$(cat "$ROOT/etc/strack-tools" 2>/dev/null) || return 1
	local dir best=
	while read -r dir; do
		[ -d "$dir" ] && kernel_supported "$(cat "$dir/release")" && best=$dir
	done < <(printf '%s\n' "$CACHE/kernel-"*"-$FLAVOUR-$tools" | sort -V)
	[ -n "$best" ] && echo "$best"
}

# debug_kernel_wanted FLAVOUR: the name of the debug kernel of the stock one's source
debug_kernel_wanted() {
	local kernel release
	kernel=$(kernel_dir) || return 1
	release=$(cat "$kernel/release")
	echo "$CACHE/kernel-$1-${release%%[+-]*}-$( (echo "format 1 ${kernel##*-} $release" &&
		"$vm/setup-debug" --fragments "$1") | key)"
}

# debug_kernel_dir FLAVOUR: that kernel, if it is there
debug_kernel_dir() {
	local dir
	dir=$(debug_kernel_wanted "$1") && [ -d "$dir" ] && echo "$dir"
}

# kernel_of WHICH: the directory of the kernel to boot: stock, debug or kcsan
kernel_of() {
	case $1 in
	stock) kernel_dir || die "there is no kernel yet: run 'make setup'" ;;
	debug | kcsan) debug_kernel_dir "$(flavour_of "$1")" ||
		die "there is no $1 kernel yet: run 'selftests/vm/setup-debug $(flavour_of "$1")'" ;;
	*) die "unknown kernel '$1': stock, debug or kcsan" ;;
	esac
}

# flavour_of WHICH: of the debug kernels
flavour_of() {
	case $1 in
	debug) echo kasan ;;
	*) echo "$1" ;;
	esac
}

# setup_for WHICH: whatever a run on this kernel needs
setup_for() {
	"$vm/setup"
	[ "$1" = stock ] || "$vm/setup-debug" "$(flavour_of "$1")"
}

# built_for NAME WHICH: the directory of what is built for this kernel
built_for() {
	case $2 in
	stock) echo "$BUILD/$1" ;;
	*) echo "$BUILD/$1-$2" ;;
	esac
}

# kernel_supported RELEASE
kernel_supported() {
	local version=${1%%[+-]*}
	[ -z "${STRACK_KERNEL:-}" ] || [ "$STRACK_KERNEL" = "$1" ] || return 1
	at_least "$version" "$KERNEL_MIN" && ! at_least "$version" "$KERNEL_BELOW"
}

# at_least A B: is version A at least version B?
at_least() {
	[ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

ROOT=$(root_dir)
# shellcheck disable=SC2034 # for the scripts that source this
BUILD=$CACHE/checkout-$(echo "$top" | key)
# What the person in front wants to have; the self-test puts it elsewhere.
# shellcheck disable=SC2034
OUT=${STRACK_OUT:-$top/out}

# locked COMMAND...: only one set-up (of the things behind one $LOCK) at a time
locked() {
	exec 9>"${LOCK:-$CACHE/lock}"
	flock -n 9 || {
		say "another set-up is running: waiting for it"
		flock 9
	}
	"$@"
	exec 9>&-
}

# work_dir NAME: a fresh directory to make something in; publish it when complete
work_dir() {
	local dir=$CACHE/.work-$1
	rm -rf --one-file-system "$dir"
	mkdir -p "$dir"
	echo "$dir"
}

# publish DIRECTORY NAME
publish() {
	sync -f "$1"
	mv -T "$1" "$2"
}
