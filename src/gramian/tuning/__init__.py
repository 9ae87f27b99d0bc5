"""Hyper-parameters by Bayesian optimisation: spaces, surrogate, objectives, the search and quick suggestions."""
