"""What CUDA's errors mean for people, and what to do about them.

Purpose: the second half of every message that `engines.cuda_api` gives. Knows: the driver's names for its errors. Does
not know: what was being done.
"""

from __future__ import annotations

from typing import Final

REMEDIES: Final = {
    "CUDA_ERROR_OUT_OF_MEMORY": "give the device's memory free, or lower engine.slots or engine.positions",
    "CUDA_ERROR_STUB_LIBRARY": "take CUDA's `stubs` folder out of LD_LIBRARY_PATH",
    "CUDA_ERROR_NO_DEVICE": "this machine shows no NVIDIA GPU to this process",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the driver was renewed while it was in use; restart the machine",
    "CUDA_ERROR_SYSTEM_NOT_READY": "a server with NVSwitch needs nvidia-fabricmanager, of the driver's version",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "take `compat` out of LD_LIBRARY_PATH, or renew the driver",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "another process has the GPU for itself; end it, or run `nvidia-smi -c 0` as root",
}
NO_DRIVER: Final = "the NVIDIA driver's library (libcuda.so.1) is not found, or older than CUDA 12"
NEW: Final = "the driver has an error that this cuda-python does not know"
STICKY: Final = "the device is unusable for this process, which must be started again"
NOT_STARTED: Final = (
    "CUDA does not start here: see that `nvidia-smi` finds the GPU, that `modprobe nvidia-uvm` was done (not on a"
    " Jetson), and that this user is in the groups video and render"
)
