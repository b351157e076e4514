#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of tools/packages.txt from the distribution's packages, and nothing else.
#   tools/setup.sh [--dry-run] [GROUP...]     groups: build demo check bench more (default: the first three)
# Needs root or sudo only if something is missing.
set -eu

list=$(dirname "$0")/packages.txt
dry_run=
groups=

die()
{
	echo "setup: $*" >&2
	exit 1
}

for argument; do
	case $argument in
	--dry-run) dry_run=yes ;;
	build | demo | check | bench | more) groups="$groups $argument" ;;
	*)
		echo "usage: tools/setup.sh [--dry-run] [build] [demo] [check] [bench] [more]" >&2
		exit 2
		;;
	esac
done
: "${groups:=build demo check}"

if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
	echo "setup: this is no Debian or Ubuntu; have these installed (names may differ):" >&2
	sed -n 's/^\([a-z][a-z?]*  *[^ ]*\).*/  \1/p' "$list" >&2
	exit 1
fi

is_installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
}

# Whether the package lists are there and do not have it.
is_unknown()
{
	apt-cache show make > /dev/null 2>&1 && ! apt-cache show "$1" > /dev/null 2>&1
}

# "package why" lines of the wanted groups whose package is not installed and can be
find_missing()
{
	for group in $groups; do
		grep "^$group?\{0,1\} " "$list" | while read -r word package why; do
			is_installed "$package" && continue
			[ "$word" != "$group?" ] || ! is_unknown "$package" || continue
			printf '%s\t%s\n' "$package" "$why"
		done
	done
}

missing=$(find_missing)
if [ -z "$missing" ]; then
	echo "setup: nothing to install, all packages are there (groups: ${groups# })"
	exit 0
fi

echo "setup: installing from the distribution's packages:"
echo "$missing" | while IFS='	' read -r package why; do
	printf '  %-22s %s\n' "$package" "$why"
done
[ -z "$dry_run" ] || exit 0
packages=$(echo "$missing" | cut -f 1)

as_root=
if [ "$(id -u)" != 0 ]; then
	command -v sudo > /dev/null || die "run this as root, or install sudo"
	as_root=sudo
fi

# --no-install-recommends: a fresh machine is not to be filled with what nobody asked for.
install()
{
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		-o DPkg::Lock::Timeout=300 $packages < /dev/null
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if install > "$log" 2>&1; then
	echo "setup: done"
	exit 0
fi

# The package lists may be old or missing, as on a fresh machine.
echo "setup: reading the package lists anew"
if ! $as_root apt-get update -o DPkg::Lock::Timeout=300 < /dev/null > "$log" 2>&1; then
	tail -n 20 "$log" >&2
	die "apt-get update failed (see above): is the network there?"
fi
packages=$(find_missing | cut -f 1)
if ! install > "$log" 2>&1; then
	tail -n 20 "$log" >&2
	for package in $packages; do
		apt-cache show "$package" > /dev/null 2>&1 ||
			echo "setup: no package $package here (on Ubuntu, is universe enabled?)" >&2
	done
	die "apt-get install failed (see above)"
fi
echo "setup: done"
