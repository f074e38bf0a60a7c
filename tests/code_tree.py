"""A small tree of Python files with doctests and assertions, and whoever runs them."""

from __future__ import annotations

from pathlib import Path

MEASURES = '''"""Small statistics."""
import math
import numpy
from .sums import total as sum_of

SMALLEST = 1
try:
    from _measures import spread
except ImportError:
    pass


def mean(values):
    """The arithmetic mean of some numbers.

    >>> mean([1, 2, 3])
    2.0

    One number is its own mean:

    >>> mean([10])
    10.0
    >>> mean([])
    Traceback (most recent call last):
    ...
    ValueError: no values
    """
    if len(values) < SMALLEST:
        raise ValueError("no values")
    count = len(values)
    return sum_of(values) / count


def spread(values):
    low, high = min(values), max(values)
    return high - low


def nothing(value):
    """Does nothing at all with a value."""
    return None


def plot(values):
    return numpy.array(values)


class Counter:
    """Counts words.

    >>> words = Counter()
    >>> words.add("a")
    1
    >>> words.add("a")
    2
    >>> words.most()
    'a'
    """

    def __init__(self):
        self.counts = {}

    def add(self, word):
        """Counts a word and says how often it came."""
        self.counts[word] = self.counts.get(word, 0) + 1
        return self.counts[word]

    def most(self):
        """The word that came most often."""
        return max(self.counts, key=lambda word: self.counts[word])


if __name__ == "__main__":
    print(mean([1]))
'''
SUMS = """START = 0


def total(values):
    result = START
    for value in values:
        result += value
    return result
"""
TESTS = """import pytest

from pack.measures import nothing, plot, spread

PAIR = [3, 9]


def test_spread():
    values = list(PAIR)
    values.append(1)
    assert spread(values) == 8
    assert spread([2]) == 0, "one value"


@pytest.mark.parametrize("values, expected", [([1, 2], 1), ((5, 5), 0)])
def test_more(values, expected):
    assert spread(values) == expected


def test_nothing():
    assert nothing(1) is None


def test_plot():
    assert plot([1]) == [1]


def test_error(tmp_path):
    with pytest.raises(ValueError):
        spread([])
    assert spread([tmp_path]) == 1
    for value in range(3):
        assert spread([value]) == 0
"""
FILES = {
    "pack/__init__.py": "",
    "pack/measures.py": MEASURES,
    "pack/sums.py": SUMS,
    "pack/torn.py": "def broken(:\n",
    "tests/test_measures.py": TESTS,
}


def write_tree(folder: Path) -> Path:
    """Writes the files below a folder and returns it."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder
