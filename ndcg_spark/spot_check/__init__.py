"""Every evaluation recomputes some of its lists in plain Python before anything is published."""
