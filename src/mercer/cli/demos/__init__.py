"""The demos: each a module with `show(stage)`; what examples share with them is here."""
