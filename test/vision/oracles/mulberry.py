"""The numbers of test/support/random.ts (Mulberry32), many at once."""

import numpy as np


class Random:
    def __init__(self, seed):
        self.state = np.uint32(seed)

    def many(self, count):
        """The next `count` numbers, from 0 to below 1."""
        steps = np.arange(1, count + 1, dtype=np.uint32)
        with np.errstate(over="ignore"):
            states = self.state + steps * np.uint32(0x6D2B79F5)
            if count:
                self.state = states[-1]
            z = (states ^ (states >> np.uint32(15))) * (states | np.uint32(1))
            z ^= z + (z ^ (z >> np.uint32(7))) * (z | np.uint32(61))
        return (z ^ (z >> np.uint32(14))).astype(np.float64) / 2**32

    def next(self, count=None):
        """One of them, or an array of `count`."""
        return float(self.many(1)[0]) if count is None else self.many(count)

    def below(self, n, count=None):
        """A whole number from 0 to below n, or an array of `count`."""
        return int(self.next() * n) if count is None else np.floor(self.many(count) * n).astype(np.int64)

    def bytes(self, count):
        return self.below(256, count).astype(np.uint8)
