"""Linear algebra on data and operators that may not fit in memory."""
