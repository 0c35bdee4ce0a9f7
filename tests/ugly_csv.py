"""A CSV with every ugly thing that people's tables have, made for tests; nobody in it exists."""

from __future__ import annotations

import csv
import io

import numpy as np

#: What each column of `ugly_table` has to be taken for.
KINDS = {
    "Patient-Nr": "identifier",
    "Aufnahme": "date",
    "Klinik": "constant",
    "leer": "constant",
    "Größe": "numeric",
    "Alter": "numeric",
    "Geschlecht": "nominal",
    "Station": "nominal",
    "Stadium": "ordinal",
    "Stürze": "ordinal",
    "Raucher": "nominal",
    "Diabetes": "nominal",
    "Bemerkung": "text",
}
TARGET = "verstorben"


def ugly_table(n_rows: int = 220, *, seed: int = 3) -> list[list[str]]:
    """Return header and rows of text: gaps, spellings, decimal commas, dates, codes, remarks."""
    rng = np.random.default_rng(seed)
    rows = [[" Patient-Nr ", *list(KINDS)[1:], TARGET]]
    for i in range(n_rows):
        age = float(rng.normal(60, 12))
        stage = int(rng.integers(4))
        died = rng.random() < 1 / (1 + np.exp(4.2 - 0.04 * (age - 60) - 0.9 * stage))
        rows.append(
            [
                f"A-{1000 + 7 * i}",
                f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024",
                "Haus A",
                "",
                "?" if i % 17 == 0 else f"{rng.normal(170, 9):.1f}".replace(".", ","),
                "NA" if i % 23 == 0 else f"{age:.0f}",
                ["männlich", "Männlich ", "weiblich"][int(rng.integers(3))],
                ["Innere; Süd", "Chirurgie", "Notaufnahme"][int(rng.integers(3))],
                ["I", "II", "III", "IV"][stage],
                "" if i % 31 == 0 else str(int(rng.integers(4))),
                "" if i % 13 == 0 else ["ja", "nein"][int(rng.integers(2))],
                str(int(rng.integers(2))),
                f'sagt: "{i} Stufen",\nkam allein; Nr. {i}',
                "" if i % 41 == 0 else ("Ja" if died else "nein"),
            ]
        )
    rows += [rows[5], rows[6]]  # the same records again
    return rows


def to_bytes(
    rows: list[list[str]], *, separator: str = ";", encoding: str = "cp1252", bom: bytes = b""
) -> bytes:
    """Write rows as a file's content, quoted where it has to be, with a blank line at the end."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\r\n").writerows(rows)
    return bom + (text.getvalue() + "\r\n").encode(encoding)


def plain_table(n_rows: int = 120, *, seed: int = 5) -> list[list[str]]:
    """Return a table without a fault, for tests to put one in: id, age, lab, ward, died."""
    rng = np.random.default_rng(seed)
    rows = [["id", "age", "lab", "ward", "died"]]
    for i in range(n_rows):
        age = rng.normal(60, 12)
        died = rng.random() < 1 / (1 + np.exp(1 - 0.08 * (age - 60)))
        ward = ["north", "south", "west"][int(rng.integers(3))]
        rows.append([f"p{i}", f"{age:.1f}", f"{rng.normal():.3f}", ward, "yes" if died else "no"])
    return rows
