"""Export room: official checkpoint in, bundle or TensorRT plan out.

Imports of `engines` only what is written on disk (manifest, plans), errors, the machine's memory, and the border to
CUDA. Where to read what:

commands        __main__, build_command, inspect_bundle; progress, stopping and errors are what they all tell
a bundle        exporter has the order: config, checkpoint, text_side, the networks, payload, bundle_manifest, placing
the networks    frame_graph (of stack and sampler) and codec_graph (with codec_transformer, of attention), in the words
                of lowering, some of which lowering_cuda says otherwise; graph makes the nodes
narrow weights  quantise packs, rounding chooses; quality_gate lets them be learnt and measured, by probe_texts,
                probe_speech, probe_graph, ort_session and quality
for TensorRT    tensorrt_files has the order: full_voice, stored_rounding, tensorrt (the set of graphs), stepped_graph,
                lowering_tensorrt, attention_tensorrt; tensorrt_rules knows what its parser takes
a plan          plan_build has the order: plan_choice, plan_cache, plan_profile, plan_check, plan_machine,
                plan_progress; build_door, tensorrt_builder, tensorrt_trouble, cuda_device (the borders)
a voice         train, the only place that may import torch
"""

import os

# ONNX Runtime sends events to its maker and gives the device a number, unless told not to before it is loaded (1.31).
# What runs here is nobody else's business.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
