"""The pages of the desk, one module each: each view is one use-case call, or one read."""
