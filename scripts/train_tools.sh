# What training and measuring a voice need: Debian packages with the teachers, and a Python with torch and pocketsphinx.
# Sourced by train_voice and eval_voice. SPEAKD_TRAIN_PYTHON names a Python that has everything already.

TRAIN_PACKAGES=(festival festlex-cmu festlex-poslex festvox-us-slt-hts libflite1 wordnet-base wamerican)

train_packages() {
    local package missing=()
    for package in "${TRAIN_PACKAGES[@]}"; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    if [[ $(id -u) == 0 ]]; then
        local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}")
        "${install[@]}" >&2 || { apt-get update >&2 && "${install[@]}" >&2; }
    else
        echo "Missing Debian packages; run: sudo apt-get install ${missing[*]}" >&2
        return 1
    fi
}

train_python() {
    train_packages >&2
    if [[ -n ${SPEAKD_TRAIN_PYTHON:-} ]]; then
        echo "$SPEAKD_TRAIN_PYTHON"
        return
    fi
    local home=$PWD/.cache/train
    if [[ ! -e $home/ready ]]; then
        echo "Installing torch and the recogniser into $home (once) ..." >&2
        "${PYTHON:-python3}" -m venv "$home" >&2
        "$home/bin/pip" install -q pocketsphinx -e "$PWD[train]" >&2
        touch "$home/ready"
    fi
    echo "$home/bin/python"
}
