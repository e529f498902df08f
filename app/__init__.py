"""App room: text front end, sessions, sinks, configuration, commands. Imports of `engines` only its public contract."""
