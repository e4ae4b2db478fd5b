"""Files: tables in and out, and fitted models."""
