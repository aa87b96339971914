"""Tables for people, and how they are written: Markdown, LaTeX, HTML. No Spark, no stream."""
