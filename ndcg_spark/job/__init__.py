"""One evaluation from its configuration to printed or published scores, with every failure explained."""
