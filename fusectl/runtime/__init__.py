"""Runs models, with whatever runtime is installed. The only code that knows runtimes by name."""

from fusectl.runtime.session import (
    CannotRun,
    Port,
    Session,
    lacks,
    open_session,
    optional,
    runner,
)

__all__ = ["CannotRun", "Port", "Session", "lacks", "open_session", "optional", "runner"]
