"""The door for whoever looks after the service: Django's admin; what it changes goes through the use cases."""
