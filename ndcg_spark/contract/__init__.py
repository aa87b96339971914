"""Checks of both inputs before anything is scored: rules count, reject or refuse rows."""
