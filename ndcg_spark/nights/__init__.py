"""The folder that keeps scores: published whole or not at all, repaired after a crash, listed, read and expired."""
