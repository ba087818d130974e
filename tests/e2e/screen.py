"""A terminal in a few lines: what is on the screen after a program has written to it."""
import re


class Screen:
    """Knows no more than what the tracker may write; everything else is an error."""

    def __init__(self, rows=24, columns=100, row=0):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.scrolled = []  # lines that left at the top
        self.row, self.column = row, 0
        self.saved = (0, 0)

    def _index(self):
        if self.row + 1 < self.rows:
            self.row += 1
        else:
            self.scrolled.append(self.cells.pop(0))
            self.cells.append([" "] * self.columns)

    def _put(self, char):
        if self.column == self.columns:
            self.column = 0
            self._index()
        self.cells[self.row][self.column] = char
        self.column += 1

    def _obey(self, sequence):
        if sequence == "\x1bD":
            self._index()
        elif sequence == "\x1b7":
            self.saved = (self.row, self.column)
        elif sequence == "\x1b8":
            self.row, self.column = self.saved
        elif sequence == "\x1b[A":
            self.row = max(0, self.row - 1)
        elif sequence == "\x1b[K":
            self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)
        else:
            assert re.fullmatch(r"\x1b\[[0-9]+m", sequence), f"{sequence!r} is not expected"

    def write(self, output):
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\x1b.|.", output, re.S):
            if part == "\n":
                self._index()
            elif part == "\r":
                self.column = 0
            elif part.startswith("\x1b"):
                self._obey(part)
            else:
                self._put(part)
        return self

    def lines(self):
        """With those that scrolled away, without empty ones at the end."""
        lines = ["".join(line).rstrip() for line in self.scrolled + self.cells]
        while lines and not lines[-1]:
            lines.pop()
        return lines
