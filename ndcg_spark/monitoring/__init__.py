"""What other programs are given about a night after it is published: a metrics file, a command."""
