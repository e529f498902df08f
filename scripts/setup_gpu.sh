# shellcheck shell=bash
# The part of scripts/setup that deals with an NVIDIA GPU; to be sourced there, which has `say`, `stamped`,
# `pip_install`, `apt_install`, `venv`, `root` and `log`.
#
# A desktop gets TensorRT, and ONNX Runtime with CUDA in the place of the plain one (both bring the same module, so only
# one may be there). A Jetson has TensorRT from JetPack: only its Python module is made visible in .venv. What cannot be
# had is said once, and everything else goes on: without it the model runs on the processor. SPEAKD_NO_GPU=1 leaves the
# GPU alone. Not yet run on a machine with a GPU.
sysroot=${SPEAKD_SYSROOT-} # the tests look at a made-up machine

gpu_kind() { # jetson, desktop, or nothing
  [[ -z ${SPEAKD_NO_GPU-} ]] || return 0
  if [[ -e $sysroot/etc/nv_tegra_release ]] || grep -qsai 'jetson' "$sysroot/proc/device-tree/model"; then
    echo jetson
  elif compgen -G "$sysroot/dev/nvidia[0-9]*" >/dev/null; then
    echo desktop
  elif [[ -e $sysroot/dev/dxg ]] && command -v nvidia-smi >/dev/null; then # Windows' Linux, whose GPU may be another's
    echo desktop
  fi
}

gpu_key() { echo "$(gpu_kind) $(packages_key)"; }

gpu_ready() { [[ -z $(gpu_kind) ]] || stamped gpu "$(gpu_key)"; }

install_gpu() {
  local key kind
  key=$(gpu_key)
  kind=$(gpu_kind)
  if ! "install_for_$kind"; then
    say "the model will run on the processor; to try again: rm $venv/speakd-gpu.stamp && scripts/setup"
  fi
  echo "$key" >"$venv/speakd-gpu.stamp"
}

cuda_major() { # of the driver on a desktop, of JetPack's CUDA on a Jetson; nothing where nobody tells
  if [[ $(gpu_kind) == jetson ]]; then
    sed -n 's/.*"version" *: *"\([0-9]*\)\..*/\1/p' "$sysroot/usr/local/cuda/version.json" 2>/dev/null | head -n 1
  elif command -v nvidia-smi >/dev/null; then
    nvidia-smi 2>/dev/null | sed -nE 's/.*CUDA (UMD )?Version: *([0-9]+)\..*/\2/p' | head -n 1 # "UMD": since 610
  fi
}

# --- desktop ------------------------------------------------------------------------------------------------------------

install_for_desktop() {
  local major extra=tensorrt
  major=$(cuda_major)
  if [[ -z $major ]]; then
    say "there is an NVIDIA GPU, but its driver does not answer (nvidia-smi); install the driver first"
    return 1
  fi
  if ((major < 12)); then
    say "the NVIDIA driver knows CUDA $major; 12 or later is needed"
    return 1
  fi
  ((major > 12)) || extra=tensorrt-cuda12
  say "installing TensorRT for CUDA $major (some GB, from NVIDIA's index; SPEAKD_NO_GPU=1 leaves it out)"
  if pip_install --editable "${root}[$extra]" && "$venv/bin/python" -c 'import tensorrt, cuda.bindings.runtime' 2>>"$log"; then
    install_onnxruntime_gpu "$major" || true
    return 0
  fi
  say "TensorRT could not be installed (all of it: $log)"
  install_onnxruntime_gpu "$major"
}

install_onnxruntime_gpu() { # $1: CUDA; leaves a working onnxruntime whatever happens
  if (($1 < 13)); then
    say "no ONNX Runtime for the GPU: the released packages want CUDA 13, the driver knows $1"
    return 1
  fi
  say "installing ONNX Runtime with CUDA, in the place of the plain one"
  "$venv/bin/python" -m pip uninstall --yes onnxruntime onnxruntime-gpu >>"$log" 2>&1 || true
  if pip_install "onnxruntime-gpu[cuda,cudnn]>=1.23" nvidia-cublas &&
    ORT_DISABLE_TELEMETRY=1 "$venv/bin/python" -c 'import onnxruntime' 2>>"$log"; then
    return 0
  fi
  say "ONNX Runtime with CUDA could not be installed; taking the plain one again (all of it: $log)"
  "$venv/bin/python" -m pip uninstall --yes onnxruntime-gpu >>"$log" 2>&1 || true
  pip_install --force-reinstall --no-deps onnxruntime || die "onnxruntime could not be put back; run scripts/setup again"
  return 1
}

# --- Jetson -------------------------------------------------------------------------------------------------------------

install_for_jetson() {
  local major least
  link_jetpack_tensorrt || { apt_install python3-libnvinfer && link_jetpack_tensorrt; } || {
    say "JetPack's TensorRT for $("$venv/bin/python" --version) was not found; sudo apt install tensorrt python3-libnvinfer"
    return 1
  }
  major=$(cuda_major)
  if [[ -z $major ]]; then
    say "JetPack's CUDA was not found in /usr/local/cuda; sudo apt install nvidia-jetpack"
    return 1
  fi
  say "installing cuda-python for CUDA $major"
  least=$major
  ((major != 12)) || least=12.9.1 # older ones keep every thread from Python while one waits for the GPU
  pip_install "cuda-python>=$least,<$((major + 1))" || {
    say "cuda-python could not be installed (all of it: $log)"
    return 1
  }
}

link_jetpack_tensorrt() { # only TensorRT, not the rest of the system's packages
  local python site place facts
  python=$("$venv/bin/python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  for place in "$sysroot/usr/lib/$python/dist-packages" "$sysroot/usr/lib/python3/dist-packages"; do
    [[ -d $place/tensorrt ]] || continue
    ln -sfn "$place"/tensorrt "$site/"
    for facts in "$place"/tensorrt-*.dist-info; do # its version
      [[ ! -d $facts ]] || ln -sfn "$facts" "$site/"
    done
    "$venv/bin/python" -c 'import tensorrt' 2>>"$log" && return 0
  done
  return 1
}
