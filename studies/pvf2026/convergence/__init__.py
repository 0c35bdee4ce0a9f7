"""The propositions of Appendix B."""
