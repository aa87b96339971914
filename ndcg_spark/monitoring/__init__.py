"""What other programs learn of a night after it is published: a metrics file, a command, an MLflow server."""
