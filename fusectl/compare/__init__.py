"""Two answers about a model laid side by side: which decisions differ, and what made them."""

from fusectl.compare.account import Account, account, wiring
from fusectl.compare.comparison import compare

__all__ = ["Account", "account", "compare", "wiring"]
