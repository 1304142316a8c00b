"""What we send: messages to people, by webhook and e-mail."""
