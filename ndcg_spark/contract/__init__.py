"""Both inputs checked before anything is scored: bad rows are counted, rejected, or refused."""
