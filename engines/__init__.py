"""Engine room: bundles, runners, talker, codec, rings, scheduler and their threads. Imports not `app`, not `export`.

Where to read what, the way a sentence takes:

it is let in    contract and errors are all a caller knows; engine puts the parts together, sized by engine_config;
                utterance is a sentence under way, scheduler gives it a slot, admission says how many a device holds
its prompt      prompt lays out its rows, sampling how codes are picked
its frames      talker_loop takes one step of all slots after another: turn is one of them, turn_pacing says who steps,
                runaway who is lost; stages is what a loop needs of what runs graphs; talker makes the codes, which go
                into the utterance's ring of frames
its sound       codec_loop takes one block after another: codec_stream is one utterance's, codec_round says who goes
                along; codec makes the samples, which go into the ring of sound that the caller reads
who goes first  pacing, chunk_policy, costs; warm_up measures what they begin with
between threads ring, worker, timing
what runs it    backends picks; runner, runner_ort, runner_ort_cuda; gpu_presence, machine_memory
TensorRT        plan_set, plan_files (what is built); tensorrt_stages, tensorrt_talker, tensorrt_prefill,
                tensorrt_frame, tensorrt_history, tensorrt_codec (what runs); tensorrt_memory, tensorrt_cache,
                tensorrt_recording, cuda_memory (on what); tensorrt_contract, tensorrt_engine, cuda_api, cuda_errors
                (the borders)
a voice's files manifest, graph_names, step_names, records, bundle; voice_files and device_facts tell of them, and of
                the device, without opening an engine
"""

import os

# ONNX Runtime sends events to its maker and gives the device a number, unless told not to before it is loaded (1.31).
# What runs here is nobody else's business.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
