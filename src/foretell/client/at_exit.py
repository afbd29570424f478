"""What is done when a process ends normally, a forked one too."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable


def at_exit(close: Callable[[], None]) -> Callable[[], None]:
    """Have `close` called when the process ends normally; return a function that cancels that.

    A child that multiprocessing forked ends without `atexit`, but not without its finalizers.
    """
    atexit.register(close)
    util = sys.modules.get("multiprocessing.util")
    finalizer = util.Finalize(None, close, exitpriority=0) if util is not None else None

    def cancel() -> None:
        atexit.unregister(close)
        if finalizer is not None:
            finalizer.cancel()

    return cancel
