"""The one error that is a user's to mend."""


class UserError(ValueError):
    """Says what was expected, what arrived and what to do.

    The command line prints its message alone and exits with 2; any other exception is a fault of
    ours and keeps its traceback.
    """
