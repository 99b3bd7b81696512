#!/bin/sh
# Checks the GPU code of a change: files that differ from a base, or all that are named.
#
#   HSACO           the command; `hsaco` unless it is set
#   HSACO_BASE      the commit or branch that the change is compared with; nothing checks all of HSACO_FILES
#   HSACO_FILES     paths or patterns of git (`*.co lib/*.so`), separated by spaces; `.` unless it is set
#   HSACO_DEVICES   devices (gfx942 gfx950:xnack-), separated by spaces; each object's own unless it is set
#   HSACO_BASELINE  a file of `hsaco check --write-baseline`; only what is new or worse fails
#   HSACO_FORMAT    github (annotations), junit, sarif, text …; github unless it is set
#   HSACO_OUTPUT    where the answer goes; standard output unless it is set
#   HSACO_ARGS      more arguments for `hsaco check` (--fail-on warning)
#
# Exit code: that of `hsaco check`; 0 if the change touches no GPU code.
set -eu

hsaco=${HSACO:-hsaco}
list=$(mktemp)
trap 'rm -f "$list"' EXIT

# Words are split on purpose, and patterns are git's.
set -f
# shellcheck disable=SC2086
if [ -n "${HSACO_BASE:-}" ]; then
    git diff --name-only -z --diff-filter=d "$HSACO_BASE...HEAD" -- ${HSACO_FILES:-.} >"$list"
else
    git ls-files -z -- ${HSACO_FILES:-.} >"$list"
fi

# Of what changed, what holds GPU code: `ls` judges by content, and says 2 of a file that is something else.
set --
while IFS= read -r path; do
    [ -n "$path" ] || continue
    status=0
    answer=$("$hsaco" ls --format json -- "$path" 2>/dev/null) || status=$?
    case $answer in
    *'"container":null'*) continue ;;
    *'"objects":[]'*) [ "$status" = 0 ] && continue ;;
    esac
    set -- "$@" "$path"
done <<END
$(tr '\0' '\n' <"$list")
END

if [ $# = 0 ]; then
    echo "hsaco: no file of the change holds AMD GPU code" >&2
    exit 0
fi

devices=
for device in ${HSACO_DEVICES:-}; do
    devices="$devices --device $device"
done
status=0
# shellcheck disable=SC2086
"$hsaco" check --format "${HSACO_FORMAT:-github}" $devices ${HSACO_BASELINE:+--baseline "$HSACO_BASELINE"} \
    ${HSACO_OUTPUT:+-o "$HSACO_OUTPUT"} ${HSACO_ARGS:-} -- "$@" || status=$?
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    # shellcheck disable=SC2086
    "$hsaco" check --format markdown $devices ${HSACO_BASELINE:+--baseline "$HSACO_BASELINE"} ${HSACO_ARGS:-} -- "$@" \
        >>"$GITHUB_STEP_SUMMARY" || :
fi
exit "$status"
