"""Look at a running or a stopped service, and say what is wrong and what to do about it."""
