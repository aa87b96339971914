"""What other programs are told of an evaluation that has ended: a metrics file, a command."""
