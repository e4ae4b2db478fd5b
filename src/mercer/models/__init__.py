"""Model files: a fitted estimator as data."""
