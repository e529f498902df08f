# System packages, where they may be installed: as root, or by sudo without a password. SPEAKD_NO_APT=1 forbids it.
# Sourced; who sources it has `say`, which tells the user something, and `log`, a file for what apt says.

apt_command() {
  [[ -z ${SPEAKD_NO_APT-} ]] && command -v apt-get >/dev/null || return 1
  if [[ $(id -u) == 0 ]]; then
    echo env DEBIAN_FRONTEND=noninteractive apt-get
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    echo sudo -n env DEBIAN_FRONTEND=noninteractive apt-get
  else
    return 1
  fi
}

apt_install() { # returns 1 where it is not allowed or does not work
  local apt
  read -ra apt <<<"$(apt_command || true)"
  ((${#apt[@]})) || return 1
  say "installing system packages: $*"
  "${apt[@]}" install -y --no-install-recommends "$@" >>"$log" 2>&1 && return 0
  "${apt[@]}" update >>"$log" 2>&1 && "${apt[@]}" install -y --no-install-recommends "$@" >>"$log" 2>&1
}
