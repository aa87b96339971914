"""What other programs are told of an evaluation that has ended: metrics, and a command."""
