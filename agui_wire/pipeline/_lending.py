"""A growing list that is read often, by readers who may keep or change what they are given."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

__all__ = ["ListLender"]


class _Loan:
    __slots__ = ("items", "length", "stale")

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.length = len(items)
        self.stale: set[int] = set()


# What this interpreter counts for a list that only a loan holds.
_unshared = _Loan([])
_UNSHARED = getrefcount(_unshared.items)


class ListLender:
    """A list that is handed out in copies, each one the reader's own.

    Copying thousands of references for each delta would be most of the work. A reader mostly
    drops one copy before, or just after, it takes the next; so the last two are remembered, and
    one that nobody else holds any more is brought up to date and handed out again, if it is
    still as it was handed out.
    """

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._loans: list[_Loan] = []

    def append(self, item: Any) -> int:
        """Add an item; gives its index."""
        self._items.append(item)
        return len(self._items) - 1

    def replace(self, index: int, item: Any) -> None:
        """Put another item in a place."""
        self._items[index] = item
        for loan in self._loans:
            loan.stale.add(index)

    def restart(self, items: list[Any]) -> None:
        """Hold other items altogether."""
        self._items = items
        self._loans.clear()

    def lend(self) -> list[Any]:
        """The items, in a list that only the caller holds."""
        for loan in tuple(self._loans):
            if getrefcount(loan.items) == _UNSHARED:
                if self._renew(loan):
                    return loan.items
                self._loans.remove(loan)
        items = self._items.copy()
        self._loans[:] = [*self._loans[-1:], _Loan(items)]
        return items

    def _renew(self, loan: _Loan) -> bool:
        """Bring a list up to date; False where its last reader has changed it."""
        items, current = loan.items, self._items
        if len(items) != loan.length:
            return False
        for index in loan.stale:
            if index < loan.length:
                items[index] = current[index]
        loan.stale.clear()
        items.extend(current[loan.length :])
        loan.length = len(items)
        # Two lists of the same objects compare without a look at the objects.
        return items == current
