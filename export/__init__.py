"""Export room: official checkpoint in, bundle or TensorRT plan out.

Imports of `engines` only what is written on disk (manifest, plans), errors, the machine's memory, and the border to
CUDA. Where to read what:

commands        __main__, build_command, inspect_bundle; progress, stopping and errors are what they all tell
a bundle        exporter (the order), config, checkpoint, text_side, bundle_manifest, payload, placing
the networks    frame_graph, stack, sampler, codec_graph, codec_transformer, attention, in the words of lowering; graph
                makes the nodes
for TensorRT    tensorrt (the set of graphs), stepped_graph, lowering_tensorrt, attention_tensorrt, tensorrt_rules,
                tensorrt_files; lowering_cuda is ONNX Runtime's on CUDA
narrow weights  quantise, rounding, stored_rounding; measured by quality_gate, quality, full_voice, probe_graph,
                probe_speech, probe_texts, ort_session
a plan          plan_build (the order), plan_choice, plan_profile, plan_cache, plan_check, plan_machine, plan_progress;
                build_door, tensorrt_builder, tensorrt_trouble, cuda_device (the borders)
a voice         train, the only place that may import torch
"""

import os

# ONNX Runtime sends events to its maker and gives the device a number, unless told not to before it is loaded (1.31).
# What runs here is nobody else's business.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
