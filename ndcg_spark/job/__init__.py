"""The commands, from a configuration to scores that are printed or published, or to an error that
says what to do.
"""
