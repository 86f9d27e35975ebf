"""Stories of the screens, recorded: `python -m tests.stories docs/stories` makes an asciicast and an SVG of each."""
