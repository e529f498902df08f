"""Engine room: bundles, runners, talker, codec, rings, scheduler and their threads. Imports not `app`, not `export`.

Where to read what, the way a sentence takes:

the doors       contract, errors, engine, engine_config; voice_files and device_facts tell without opening an engine
a voice's files manifest, graph_names, step_names, records, bundle
let in          admission, scheduler, utterance, prompt, sampling
the talker      talker_loop, turn, turn_pacing, stages, talker, runaway
the codec       codec_loop, codec_stream, codec_round, codec
who goes first  pacing, chunk_policy, costs; warm_up measures what they begin with
between threads ring, worker, timing
what runs it    backends, runner, runner_ort, runner_ort_cuda; gpu_presence, machine_memory
TensorRT        plan_set, plan_files (what is built); tensorrt_stages, tensorrt_talker, tensorrt_prefill,
                tensorrt_frame, tensorrt_history, tensorrt_codec (what runs); tensorrt_memory, tensorrt_cache,
                tensorrt_recording, cuda_memory (on what); tensorrt_contract, tensorrt_engine, cuda_api, cuda_errors
                (the borders)
"""

import os

# ONNX Runtime sends events to its maker and gives the device a number, unless told not to before it is loaded (1.31).
# What runs here is nobody else's business.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
