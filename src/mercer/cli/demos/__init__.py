"""The demos of `mercer demo`: each is a module with `show(stage)`. Some examples show the same with other settings."""
