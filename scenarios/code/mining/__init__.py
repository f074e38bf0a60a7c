"""Programming tasks out of code that people have written: functions with tests become completions, commits become repairs."""
