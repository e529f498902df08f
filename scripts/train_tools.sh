# What training and measuring a voice need: Debian packages with the teachers, and a Python with torch and pocketsphinx.
# Sourced by train_voice and eval_voice, which have `root`. SPEAKD_TRAIN_PYTHON names a Python that has everything already.

say() { echo "speakd training: $*" >&2; }
log=$root/.cache/setup.log
mkdir -p "$root/.cache"
# shellcheck source=scripts/apt.sh
. "$root/scripts/apt.sh"

TRAIN_PACKAGES=(festival festlex-cmu festlex-poslex festvox-us-slt-hts libflite1 wordnet-base wamerican)

train_packages() {
    local package missing=()
    for package in "${TRAIN_PACKAGES[@]}"; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    apt_install "${missing[@]}" && return 0
    say "missing Debian packages; run: sudo apt-get install ${missing[*]}"
    return 1
}

train_python() { # called as $(train_python), where `set -e` does not reach
    train_packages >&2 || return 1
    if [[ -n ${SPEAKD_TRAIN_PYTHON:-} ]]; then
        echo "$SPEAKD_TRAIN_PYTHON"
        return
    fi
    local home=$PWD/.cache/train
    if [[ ! -e $home/ready ]]; then
        say "installing torch and the recogniser into $home (once) ..."
        "${PYTHON:-python3}" -m venv "$home" >&2 &&
            "$home/bin/python" -m pip install -q pocketsphinx -e "$PWD[train]" >&2 &&
            touch "$home/ready" || { say "they could not be installed; see above" && return 1; }
    fi
    echo "$home/bin/python"
}
