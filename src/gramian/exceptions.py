"""The warnings and errors that only gramian raises."""


class NumericalWarning(UserWarning):
    """The answer is finite and usable, but the numbers behind it deserve a look."""


class ModelFileError(ValueError):
    """A model file is damaged, foreign, too new, or not a model file at all."""
