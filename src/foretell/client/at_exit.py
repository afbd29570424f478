"""What is done when a process ends normally."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable


def at_end(close: Callable[[], None]) -> Callable[[], None]:
    """Have this done when the process ends; give a function that takes that back.

    A child that multiprocessing forked ends without `atexit`, but not without its finalizers.
    """
    atexit.register(close)
    util = sys.modules.get("multiprocessing.util")
    finalizer = util.Finalize(None, close, exitpriority=0) if util is not None else None

    def take_back() -> None:
        atexit.unregister(close)
        if finalizer is not None:
            finalizer.cancel()

    return take_back
