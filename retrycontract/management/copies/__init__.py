"""Copies of the whole database, as the database itself makes them: a file for SQLite, a dump for PostgreSQL."""
