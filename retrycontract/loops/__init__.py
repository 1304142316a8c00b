"""Drive a model until its output conforms: agent responses, structured extraction."""
