# Source this: what checks need that crawl a site of Debian's documentation, installed by name and kept outside the clone; $venv is then their Python. $HERODOTUS names the binary.
# Without a package registry it says so and ends well.
if [[ ! -x ${HERODOTUS:-} ]]; then
    echo "HERODOTUS must name the herodotus binary, e.g. HERODOTUS=target/release/herodotus $0" >&2
    exit 2
fi
HERODOTUS=$(realpath "$HERODOTUS")
cache=${HERODOTUS_CI_CACHE:-$HOME/.cache/herodotus-ci}
export HERODOTUS PYTHONDONTWRITEBYTECODE=1 HERODOTUS_CI_CACHE=$cache DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/sbin:/sbin # where Debian keeps nginx
mkdir -p "$cache"

# skip WHY: the checks need things that a machine without package registries cannot get.
skip() {
    echo "skipped: $1; nothing was checked"
    echo "0 passed, 0 failed"
    exit 0
}

as_root=()
((EUID == 0)) || as_root=(sudo -n)
apt=("${as_root[@]}" timeout 120 apt-get -qq)
for need in nginx:nginx-light wget:wget; do
    command -v "${need%%:*}" >/dev/null && continue
    # A service of that name must not start beside it: the checks run one of their own.
    {
        RUNLEVEL=1 "${apt[@]}" install -y --no-install-recommends "${need#*:}" ||
            { "${apt[@]}" update && RUNLEVEL=1 "${apt[@]}" install -y --no-install-recommends "${need#*:}"; }
    } >"$cache/crawl-apt.log" 2>&1
    command -v "${need%%:*}" >/dev/null || skip "${need#*:} could not be installed"
done
command -v python3 >/dev/null || skip "there is no python3"

peers=('warcio>=1.7,<2' 'wacz>=0.5,<0.7' 'setuptools<81')
venv=$cache/crawl-peers
ready=$venv/ready-$(printf '%s\n' "${peers[@]}" | sha256sum | cut -c1-16)
if [[ ! -e $ready ]]; then
    rm -rf "$venv"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "${peers[@]}"; } >"$venv.log" 2>&1; then
        tail -5 "$venv.log"
        rm -rf "$venv"
        skip "the peers could not be installed (no package registry?)"
    fi
    touch "$ready"
fi
