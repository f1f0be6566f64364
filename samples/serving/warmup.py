"""The warm-up list of the service: every shape that a request may have, called once."""

from service import answer

ROWS = (1, 4, 16)
COLUMNS = (1024,)

for columns in COLUMNS:
    for rows in ROWS:
        answer(rows, columns)
