"""Engine room: bundles, runners, talker, codec, rings, scheduler and their threads. Imports not `app`, not `export`."""

import os

# ONNX Runtime sends events to its maker and gives the device a number, unless told not to before it is loaded (1.31).
# What runs here is nobody else's business.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
