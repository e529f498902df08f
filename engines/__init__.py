"""Engine room: bundles, runners, talker, codec, rings, scheduler and their threads. Imports not `app`, not `export`."""
