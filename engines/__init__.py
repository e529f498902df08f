"""Engine room: bundles, runners, talker, codec, rings, scheduler and their threads. Imports neither `app` nor `export`."""
