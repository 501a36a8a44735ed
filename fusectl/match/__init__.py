"""Candidates: where a rule could be expected to fire. Structure only, no policy."""

from fusectl.match.candidate import Barrier, Candidate, Miss, Role
from fusectl.match.search import find_near, find_whole
from fusectl.match.walk import walk

__all__ = ["Barrier", "Candidate", "Miss", "Role", "find_near", "find_whole", "walk"]
