#!/bin/sh
# Signs a file with cosign, by the key in COSIGN_PRIVATE_KEY, or keyless: as the identity that
# the workflow has where it runs. By key nothing is asked of Sigstore, and nothing is written
# to its public log.
#
#   scripts/sign.sh FILE BUNDLE    # writes the Sigstore bundle
#
# docs/recipes.md has the commands that verify it.
set -eu
if [ -n "${COSIGN_PRIVATE_KEY:-}" ]; then
	exec cosign sign-blob --yes --key=env://COSIGN_PRIVATE_KEY --use-signing-config=false --tlog-upload=false --bundle="$2" "$1"
fi
exec cosign sign-blob --yes --bundle="$2" "$1"
