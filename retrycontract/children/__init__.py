"""Child processes that can be killed: for work that holds the interpreter's lock and that nobody can interrupt."""
