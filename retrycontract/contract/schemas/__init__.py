"""Read a schema before anything trusts it: shape, draft, references, patterns, cost."""
