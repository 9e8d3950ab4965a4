# SPDX-License-Identifier: MIT
"""Byte pair encoding: makes a vocabulary, encodes with it, and writes it in llama2.c's format."""

import struct
from collections import Counter

SPECIAL = ["<unk>", "<s>", "</s>"]  # in llama2.c 1 begins a text and ends it


def merge(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    merged = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def vocabulary(texts: list[str], size: int) -> list[str]:
    """The characters of the texts, and behind them the most frequent pairs within words."""
    words = Counter(word for text in texts for word in text.replace(" ", "\n ").split("\n"))
    split = {word: list(word) for word in words if word}
    tokens = SPECIAL + sorted({character for word in split for character in word})
    while len(tokens) < size:
        pairs = Counter()
        for word, pieces in split.items():
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] += words[word]
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        tokens.append("".join(best))
        split = {word: merge(pieces, best) for word, pieces in split.items()}
    return tokens


def encode(text: str, tokens: list[str]) -> list[int]:
    """As llama2.c does it: of all neighbours that make a token, the earliest token first."""
    number = {token: i for i, token in enumerate(tokens)}
    pieces = list(text)
    while True:
        known = [pair for pair in zip(pieces, pieces[1:]) if "".join(pair) in number]
        if not known:
            return [number[piece] for piece in pieces]
        best = min(known, key=lambda pair: number["".join(pair)])
        at = list(zip(pieces, pieces[1:])).index(best)
        pieces[at : at + 2] = ["".join(best)]


def write(path: str, tokens: list[str]) -> None:
    coded = [token.encode() for token in tokens]
    with open(path, "wb") as file:
        file.write(struct.pack("<i", max(map(len, coded))))
        for i, token in enumerate(coded):
            score = 0.0 if i < len(SPECIAL) else float(len(SPECIAL) - i)
            file.write(struct.pack("<fi", score, len(token)) + token)
