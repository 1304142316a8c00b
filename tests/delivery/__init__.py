"""What is sent, and to whom it may go."""
