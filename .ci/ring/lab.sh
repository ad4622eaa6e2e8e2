# Source this, with `work` unset: what the checks of rings in network namespaces share. The program is named by $HERODOTUS.
# Without root, iproute2, cc or /dev/net/tun it says so and ends well.
: "${HERODOTUS:?name the program under test}"

skip() { echo "skipped: $1; rings on a shaped network are not checked"; exit 0; }
((EUID == 0)) || skip "not root"
for tool in ip cc python3; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
[[ -c /dev/net/tun ]] || skip "there is no /dev/net/tun"
ip netns add herodotus-try$$ 2>/dev/null || skip "no network namespace can be made"
ip netns del herodotus-try$$

NETLAB_DIR=$PWD/netlab
# shellcheck source=netlab/netlab.sh
source netlab/netlab.sh
work=$(mktemp -d)
export PYTHONDONTWRITEBYTECODE=1
declare -A pid=()
lab_is_up=

lab_up() { netlab_up "$@"; lab_is_up=1; }
lab_down() { netlab_down >"$work/traffic"; lab_is_up=; }
# lab_shape N RATE_MBIT RTT_MS [ORIGIN_MBIT] [LOSS_PPM]: the same hosts on another network, from now on. Packets under way are lost.
lab_shape() {
    kill "$LAB_PID"; wait "$LAB_PID" 2>/dev/null
    nice -n -10 "$LAB_BIN/netsim" "$LAB" "$@" >"$LAB_OUT" & LAB_PID=$!
}

also_finish() { :; } # for a check that has more to clear away
finish() {
    local k status=$?
    trap '' INT TERM
    for k in "${!pid[@]}"; do kill -9 "${pid[$k]}" 2>/dev/null; wait "${pid[$k]}" 2>/dev/null; done
    [[ -n $lab_is_up ]] && lab_down
    also_finish
    if ((status == 0)); then rm -rf "$work"; else echo "      files kept in $work"; fi
}
trap finish EXIT
trap 'exit 1' INT TERM
fail() { echo "FAIL  $1"; exit 1; }

data() { echo "$work/m$1"; }
node_arguments=()
start() { # K [--join TICKET]
    local k=$1; shift
    # Its own process, not a shell around it, so that what is killed is the node.
    (exec ip netns exec "$LAB$k" "$HERODOTUS" --data "$(data "$k")" --json node --listen 127.0.0.1:8480 --peers "10.77.0.$((k + 1)):8482" --ring-pace 500 \
        "${node_arguments[@]}" "$@" >"$work/out$k" 2>>"$work/err$k" </dev/null) &
    pid[$k]=$!
}
stop_hard() { kill -9 "${pid[$1]}" 2>/dev/null; wait "${pid[$1]}" 2>/dev/null; unset "pid[$1]"; }
invite() { "$HERODOTUS" --data "$(data "${1:-0}")" ring invite 2>/dev/null || fail "ring invite"; }
# check WHAT WITHIN_SECONDS K...: the nodes become one ring and find every owner.
check() {
    local what=$1 within=$2 k dirs=(); shift 2
    for k in "$@"; do dirs+=("$(data "$k")"); done
    python3 check.py "$what" "$within" "${dirs[@]}" || fail "$what"
}
