"""The nearest known name to a misspelt one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

from retrycontract.contract.pointers import tokens

MAX_COMPARED = 500  # names; a longer list costs more than the suggestion is worth
MAX_LENGTH = 100  # characters; what is longer is text, not a name
MIN_PART = 3  # letters; shorter parts stand in too many names
LETTERS_A_SLIP = 3  # of the shorter word for each slip that is forgiven: none of two letters, one of four, two of six
SHORT = 3  # letters of a word that any other letter makes another word of
EXTREMES = {"min", "max"}
MOST_SLIPS = 3  # letters left out, put in, exchanged or swapped; beyond that it is another word
WORD_LENGTH = 4  # letters of a word in which two that changed places are a slip; other slips need longer words
FEW = 12  # choices that somebody has listed by hand; more are a vocabulary
LONG = 10  # letters of a word in which two slips are no other word
# Words that fingers make of each other.
CONFUSED = """
    from form trail trial angel angle quiet quite dairy diary casual causal united untied marital martial desert dessert
    complement compliment stationary stationery adapter adopter principal principle loose lose discreet discrete sever
    severe planed planned later latter super supper hoping hopping sacred scared signed singed filed field contact
    contract uid uuid poison poisson cousin coussin
"""
_CONFUSED = frozenset(zip(CONFUSED.split()[::2], CONFUSED.split()[1::2], strict=True))
VOWELS = frozenset("aeiouy")
LIQUIDS = frozenset("lr")  # beside a vowel they change places between words: 'silver' and 'sliver', 'form' and 'from'
BEFORE_LIQUIDS = VOWELS | frozenset("bcdfgkpstvw")  # "nroth" is no word
# Where a letter was left out of two consonants between vowels, and one stands there now.
BETWEEN_VOWELS = re.compile(r"[aeiouy](?:[^\Waeiouy]\||\|[^\Waeiouy])[aeiouy]")
WORD = re.compile(r"[^\W\d_]+?(?=[A-Z]|[\W\d_]|$)|\d+")
# What many tools do: a name that shares nothing else is about another thing.
VERBS = frozenset(
    {
        "add", "call", "create", "delete", "do", "execute", "fetch", "find", "for", "from", "get", "list", "load",
        "make", "new", "of", "query", "read", "remove", "run", "search", "send", "set", "show", "the", "tool", "update",
        "use", "with", "write",
    }
)  # fmt: skip
# Words that add nothing to the words of a field's name; any other ('dry', 'max', 'exclude') may change what is done.
EMPTY = frozenset({"the", "this", "my", "your", "value", "arg", "argument", "str", "int", "bool"})
# Pairs that say what one of their words says alone: the second, then the first.
SAYS_THE_SECOND = frozenset({("file", "path"), ("search", "query")})
SAYS_THE_FIRST = frozenset(
    {("email", "address"), ("phone", "number"), ("zip", "code"), ("directory", "path"), ("folder", "path")}
)
# Words that turn what they stand beside into its opposite: 'not_started' is no way to write 'started'.
DENIALS = frozenset({"not", "no", "non", "un", "without", "never", "except", "anti"})


def did_you_mean(value: object, options: Iterable[object]) -> str | None:
    """Return the one option that the value most likely stands for, or None.

    Case, dashes, underscores and spaces are forgiven first, then a few wrong letters.
    """
    if not isinstance(value, str) or not 0 < len(value) <= MAX_LENGTH:
        return None
    names = [option for option in options if isinstance(option, str) and len(option) <= MAX_LENGTH]
    return _nearest(value, tuple(names[:MAX_COMPARED]))


@lru_cache(maxsize=128)
def _nearest(value: str, names: tuple[str, ...]) -> str | None:
    """Remembered, since an error, its hint and the trials of its patch all ask the same."""
    folded = _fold(value)
    # Reversed, so that of several names that fold to the same the first one stays.
    by_fold = {_fold(name): name for name in reversed(names)}
    if folded in by_fold:
        return by_fold[folded]
    slips = {name: count for name in by_fold if (count := slips_between(folded, name)) is not None}
    if slips:
        return by_fold[min(slips, key=slips.__getitem__)]
    # Without repetitions: several schemas of one place may list the same option, which would look like two candidates.
    around = [name for name in dict.fromkeys(names) if _shares_words(value, name)]
    return around[0] if len(around) == 1 else None


def near(value: str, options: Iterable[str], most: int) -> list[str]:
    """Give the options that a value may stand for, the nearest first: a few slips away, or about the same thing."""
    names = [option for option in options if len(option) <= MAX_LENGTH][:MAX_COMPARED]
    value = value[:MAX_LENGTH]
    folded, words = _fold(value), set(_words(value))
    ranks: dict[str, tuple[int, float]] = {}
    for name in names:
        shared = words & set(_words(name))
        slips = slips_between(folded, _fold(name))
        if slips is not None or any(len(word) >= MIN_PART for word in shared - VERBS):
            likeness = SequenceMatcher(None, folded, _fold(name)).ratio()
            ranks[name] = (0 if slips is not None else -len(shared), -likeness)
    return sorted(ranks, key=lambda name: (ranks[name], name))[:most]


def unmistakable(value: object, options: Iterable[object], *, of: str | None = None) -> str | None:
    """Return the option that the value stands for when no other is as near: what a patch may put in its place.

    'Iraq' is as near to 'Iran' as a slip is, and a word of its own: only what fingers do makes no other word. `of` is
    the pointer of the object whose field a name is: such a name may have a word more that says nothing.
    """
    if not isinstance(value, str) or len(value) > MAX_LENGTH:
        return None
    texts = tuple([option for option in options if isinstance(option, str)])
    return _unmistakable(value, texts, of) if texts else None


@lru_cache(maxsize=128)
def _unmistakable(value: str, options: tuple[str, ...], of: str | None) -> str | None:
    """Remembered, since an error's words and its patch ask the same."""
    texts = {*options}
    if len({text.casefold() for text in texts}) < len(texts):
        return None  # case tells these apart
    guess = did_you_mean(value, options)
    # Of a long list of terms a letter more or less is another term: 'EPIPE' and 'ESPIPE', 'chlorate' and 'chlorite'.
    is_vocabulary = of is None and len(texts) > FEW
    if guess is None or not _is_unmistakable(value, guess, of, is_vocabulary=is_vocabulary):
        return None
    rival = did_you_mean(value, [option for option in options if option != guess])
    return guess if rival is None or _far(value, rival) > _far(value, guess) else None


def _is_unmistakable(value: str, guess: str, of: str | None, *, is_vocabulary: bool) -> bool:
    if _fold(value) == _fold(guess):
        return True
    ours, theirs = _words(value), _words(guess)
    if len(ours) != len(theirs) or any(map(str.isdigit, ours)):
        ours, theirs = (_fold(value),), (_fold(guess),)
    apart = [(one, other) for one, other in zip(ours, theirs, strict=True) if one != other]
    # Beside words that are right a short one is as plain as a long one alone.
    least = WORD_LENGTH + (len(ours) == 1)
    consonants = LONG if is_vocabulary else least
    if all(
        _is_slip(*pair, left=2 if min(map(len, pair)) >= LONG else 1, least=least, consonants=consonants)
        for pair in apart
    ):
        is_word = of is None and any(_reads_as_well(*pair) for pair in apart)
        return not is_word and _CONFUSED.isdisjoint((*apart, *(pair[::-1] for pair in apart)))
    return of is not None and _has_an_empty_word_more(value, guess, of)


def _has_an_empty_word_more(value: str, guess: str, of: str) -> bool:
    """Tell whether two names differ by one word at an end that adds nothing, such as what the object itself is called.

    'path' among 'files' is a 'file_path'; but 'exclude_tags' is the opposite of 'tags'.
    """
    short, long = sorted((_words(value), _words(guess)), key=len)
    if not _shares_words(value, guess) or len(long) != len(short) + 1:
        return False
    leads = long[1:] == short
    more, pair = (long[0], tuple(long[:2])) if leads else (long[-1], tuple(long[-2:]))
    names_around = [_words(token) for token in tokens(of) if not token.isdigit()]
    kind = names_around[-1][-1:] if names_around else ()
    says_the_same = pair in (SAYS_THE_SECOND if leads else SAYS_THE_FIRST)
    return more in EMPTY or says_the_same or _plural(more) in map(_plural, kind)


def _plural(word: str) -> str:
    return word.removesuffix("s") + "s"


def is_slip_of_a_short_name(value: str, name: str) -> bool:
    """Tell whether one name of at most four letters lacks an inner letter of the other, or has two exchanged."""
    short, long = sorted((_fold(value), _fold(name)), key=len)
    inner = range(1, len(long) - 1) if SHORT <= len(long) <= WORD_LENGTH and short[:1] == long[:1] else ()
    slips = {
        text for i in inner for text in (long[:i] + long[i + 1 :], long[:i] + long[i : i + 2][::-1] + long[i + 2 :])
    }
    return short in slips - {long} and _CONFUSED.isdisjoint([(short, long), (long, short)])


def _is_slip(
    one: str, other: str, *, left: int, least: int = WORD_LENGTH + 1, consonants: int = WORD_LENGTH + 1
) -> bool:
    """Tell whether fingers alone make one word of the other, within what both have at their beginning and end.

    Two neighbours change places, a letter is doubled or not, one is left out or put in, a vowel stands for another. A
    word in which one is left out has at least so many letters; 'prednisone', 'chlorate' and 'chlorite' are other words.
    """
    begins = _alike(one, other)
    ends = _alike(one[begins:][::-1], other[begins:][::-1])
    rest, missing = one[begins : len(one) - ends], other[begins : len(other) - ends]
    if len(rest) > len(missing):
        rest, missing, one, other = missing, rest, other, one
    length = len(one)
    if not begins or any(map(str.isdigit, rest + missing)):
        return False
    if not rest and len(missing) == 1:
        is_doubled = missing == other[begins - 1] or other[begins + 1 : begins + 2] == missing
        is_plural = missing == "s" and not ends
        if VOWELS.isdisjoint(one):
            return ends > 0 and length >= SHORT  # "pth" is no word
        is_long = length >= (least if missing in VOWELS else consonants)
        return length >= SHORT and (is_doubled or is_plural or (ends > 0 and is_long))
    if not rest:
        return False
    if len(rest) == len(missing) == 1:
        is_ending = ends == 2 and one[-1] == "e" and one[-2] in "dlnt"
        return ends > 0 and not is_ending and length > WORD_LENGTH + SHORT and {rest, missing} <= VOWELS
    if len(rest) == len(missing) == 2 and rest == missing[::-1]:
        return length >= WORD_LENGTH
    if left < 2 or not ends:
        return False
    # Two slips apart from each other: mend the first in each way, and look whether one is left.
    mended = (one[:begins] + other[begins] + one[begins:], one[:begins] + one[begins + 1 :],
              one[:begins] + one[begins : begins + 2][::-1] + one[begins + 2 :])  # fmt: skip
    return any(_is_slip(each, other, left=1) for each in mended)


def _reads_as_well(one: str, other: str) -> bool:
    """Tell whether a slip in a short word makes a text that reads as a word, too: 'inulin' for 'insulin'."""
    short, long = sorted((one, other), key=len)
    begins = _alike(short, long)
    if len(long) >= LONG:
        return False
    if len(short) == len(long):
        exchanged = {*short[begins : begins + 2]}
        return short[begins - 1] in BEFORE_LIQUIDS and bool(exchanged & VOWELS and exchanged & LIQUIDS)
    missing = long[begins]
    is_doubled = missing in (short[begins - 1], short[begins : begins + 1])
    around = f"{short[:begins]}|{short[begins:]}"
    return missing not in VOWELS and not is_doubled and BETWEEN_VOWELS.search(around) is not None


def _alike(one: str, other: str) -> int:
    """Count the letters that two words begin with alike."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _far(value: str, name: str) -> int:
    slips = slips_between(_fold(value), _fold(name))
    return MOST_SLIPS + 1 if slips is None else slips


def slips_between(one: str, other: str) -> int | None:
    """Count the slips that make one word of the other; None when they are too many, or make another word of it."""
    short, long = sorted((one, other), key=len)
    most = min(len(short) // LETTERS_A_SLIP, MOST_SLIPS)
    # What they have in common is at most the letters they share: so much is soon counted.
    shared = min(sum(map(long.__contains__, short)), sum(map(short.__contains__, long)))
    if len(long) - shared > most or _is_another(short, long):
        return None
    before: list[int] = []
    row = list(range(len(long) + 1))
    for i, letter in enumerate(short, 1):
        earlier, before, row = before, row, [i]
        for j, beside in enumerate(long, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != beside))
            if i > 1 and j > 1 and letter == long[j - 2] and short[i - 2] == beside:
                least = min(least, earlier[j - 2] + 1)  # two letters that changed places
            row.append(least)
    slips = row[-1]
    return slips if slips <= most and (slips < 2 or one[0] == other[0]) else None  # first letters are seldom wrong


def _is_another(short: str, long: str) -> bool:
    """Tell two words that mean different things however alike they look: 'paid' and 'unpaid', 'ipv4' and 'ipv6'."""
    apart = len(long) - len(short)
    # One letter more may be a slip of the fingers; two or more in front or behind make another word, as in 'unpaid'.
    if apart > 1 and (long.startswith(short) or long.endswith(short)):
        return True
    if len(short) <= SHORT and apart == 0:
        return True  # 'get' and 'set', 'gte' and 'lte'
    if list(filter(str.isdigit, short)) != list(filter(str.isdigit, long)):
        return True
    return apart == 0 and {short[:SHORT], long[:SHORT]} == EXTREMES


def _fold(name: str) -> str:
    folded = name.casefold()
    return folded if folded.isalnum() else "".join(filter(str.isalnum, folded))


def _shares_words(value: str, name: str) -> bool:
    """Tell whether one begins or ends with all words of the other ('path', 'file_path'), and denies nothing."""
    short, long = sorted((_words(value), _words(name)), key=len)
    if not short or len("".join(short)) < MIN_PART or not DENIALS.isdisjoint(long):
        return False
    return long[: len(short)] == short or long[-len(short) :] == short


@lru_cache(maxsize=1024)
def _words(name: str) -> tuple[str, ...]:
    """Remembered, since the names of a schema are held against whatever comes."""
    return tuple([word.casefold() for word in WORD.findall(name)])
