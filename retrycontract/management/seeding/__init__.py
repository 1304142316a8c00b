"""Plant data to try the service with: tools, stories that really happened to them, and any number of copies."""
