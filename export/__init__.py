"""Export room: official checkpoint in, bundle out. Imports of `engines` only its manifest and errors."""
