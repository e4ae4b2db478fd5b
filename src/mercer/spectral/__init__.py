"""The computation behind the spectral estimators."""
