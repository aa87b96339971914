"""One evaluation, from its configuration to scores that are printed or published, or to a failure that is explained."""
