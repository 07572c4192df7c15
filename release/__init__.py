"""Makes what a release consists of: see the recipes for releases in the Makefile."""
