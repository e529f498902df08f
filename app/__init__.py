"""App room: text in by a door, sound out of a sink. Imports of `engines` only its public contract.

Where to read what, the way a text takes:

`speak`         cli; speak_command reads the command line into wishes, speak_run puts one run together: text_source and
                text_input in, daemon_client (small_websocket, socket_path) or an engine of its own; progress,
                run_stats, codes_file; standard_streams
at once         quick, which imports next to nothing: quick_options, quick_talk, websocket_frames, client_places,
                voice_section, text_room
the daemon      daemon puts the parts together: config, server_config, config_check, services, voices, pools; reload;
                pulse, systemd_notify, metrics, logs, log_handler; children, open_files, promptness, threads
its doors       server, door, peer, connection; security and gate say who may come in; http_pages, socket_file
what is said    messages, block, raw_lines, protocol_errors; protocol, by the law of protocol_table
a context       context_plan checks what is wished for; context, text_stream, pauses; session takes text in and gives
                sound out, listening is who hears it; engine_client is the only way to an engine
work            executor, inline_executor
text, elsewhere remote_reader, text_process, text_messages, text_worker: the daemon's text is read in another process
text front end  front_end, from pieces of text to ids: bundle_reader opens it; hygiene, segmenter, word_pieces with
                certain, then reading, which has the order of the rules; tokenizer, text_piece; language, foreign_dots
for the eye     markup, addresses, formulas, lines
English         normalizer and english have the order; rules and spans are what rules are made of; abbreviations,
                short_forms, numbers, roman, amounts, measures, lengths, parts, small_signs, signs, prices, dates,
                clock, telephone, places, verses
other languages east_asian, chinese
default voice   speakable, phones, young_words
sound out       sink is the door: socket_sink (audio_format, audio_container), file_sink (file_writers, wav), speaker
                (playback_buffer, devices), local_sink
the loudspeaker loudspeaker and playing_line: one voice at a time; player_process, player_wire, player, kept_audio
the device      device_info, device_reading, sensors, nvml, jetson_stats, device_watch, device_metrics
TensorRT plans  build_command; plans and plan_builder where a daemon begins
"""
