# SPDX-License-Identifier: MIT
"""Short stories from a grammar: what the tiny model is trained on.

A story is three sentences in lower case about a memory that computes. Who acts, on what, and in which
order follows from a few rules, so that there is something to learn beyond spelling: the one who is
named first comes back as "it", and the third sentence answers the second.
"""

import random

PLACES = ["a small town", "a quiet house", "an old tower", "a green valley", "a busy port"]
HEROES = ["bank", "row", "chip", "host", "adder", "buffer"]
TRAITS = ["little", "patient", "proud", "sleepy", "clever", "kind"]

# What each of them does all day, and what comes of it.
WORK = {
    "bank": ("kept a page of numbers", "opened its page and read them aloud"),
    "row": ("slept until it was called", "woke up and gave its numbers away"),
    "chip": ("carried eight bits at a time", "took a whole word on its back"),
    "host": ("sent letters to the memory", "waited for the answer and smiled"),
    "adder": ("added one number to the next", "wrote the sum on the wall"),
    "buffer": ("held the door for the data", "let them in one after the other"),
}

TROUBLES = {
    "the numbers were far away": "so they were multiplied at home",
    "the road was too narrow": "so only the sum went out",
    "the clock would not wait": "so nobody lost a single tick",
    "the night was very cold": "so the charge was written again",
    "a number was too large": "so it was rounded to the nearest",
}

ENDINGS = [
    "and all the weights were happy",
    "and the queue was empty at last",
    "and the memory was quiet again",
    "and the next token could begin",
]


def story(pick: random.Random) -> str:
    hero, trait = pick.choice(HEROES), pick.choice(TRAITS)
    day, deed = WORK[hero]
    trouble, answer = pick.choice(list(TROUBLES.items()))
    opening = pick.choice(
        [
            f"once upon a time there was a {trait} {hero} in {pick.choice(PLACES)}.",
            f"in {pick.choice(PLACES)} there lived a {trait} {hero}.",
        ]
    )
    middle = pick.choice(
        [
            f"every day the {hero} {day}, but {trouble}.",
            f"the {trait} {hero} {day}. one day {trouble}.",
        ]
    )
    end = f"the {hero} {deed}, {answer}, {pick.choice(ENDINGS)}."
    return f"{opening} {middle} {end}"


def stories(count: int, seed: int) -> list[str]:
    pick = random.Random(seed)
    return [story(pick) for _ in range(count)]
