"""The methods: recipes of a page each, with scikit-learn's interface."""
