"""Find secrets in values: by name, by shape, by neighbourhood, by randomness."""
