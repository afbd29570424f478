"""How policies appear in a legend: one colour, one dash and a short name each, everywhere.

Colours are from the palette of Okabe and Ito, which the colour-blind can tell apart, and dashes
tell lines apart without any. Variants of one policy in the same picture share its colour and
differ in their dash and in lightness.
"""

from __future__ import annotations

import colorsys
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How a policy's line is drawn: colour and dash (lengths on and off, empty for solid)."""

    colour: str
    dash: tuple[int, ...] = ()


_BLUE, _VERMILION, _GREEN, _SKY = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
_ORANGE, _PINK, _GREY, _BLACK = "#E69F00", "#CC79A7", "#767676", "#222222"

_SOLID: tuple[int, ...] = ()
_DASHED, _DOTTED, _DASH_DOT, _LONG = (6, 3), (2, 2), (6, 2, 2, 2), (10, 4)

_STYLES = {
    "nsd-ucrl2": Style(_BLUE),
    "nsd-psrl": Style(_VERMILION),
    "nsd-adaptive": Style(_BLACK),
    "ucb": Style(_GREY, _DASHED),
    "sw-ucb": Style(_PINK, _DASHED),
    "uniform": Style(_BLACK, _DOTTED),
    "oracle-ucb": Style(_ORANGE, _DASH_DOT),
    "oracle-ucb-nd": Style(_ORANGE, _DOTTED),
    "oracle-nsd": Style(_GREEN, _DASH_DOT),
    "oracle-nsd-nd": Style(_GREEN, _DOTTED),
    "oracle-psrl": Style(_SKY, _DASH_DOT),
    "oracle-theta": Style(_SKY, _DOTTED),
}
_COLOURS = (_BLUE, _VERMILION, _GREEN, _SKY, _ORANGE, _PINK, _GREY, _BLACK)
_DASHES = (_SOLID, _DASHED, _DASH_DOT, _LONG, _DOTTED)


def style(policy: str) -> Style:
    """Return the style of a policy by its name; one that we do not know gets a lasting one."""
    if policy in _STYLES:
        return _STYLES[policy]
    number = int.from_bytes(hashlib.sha256(policy.encode()).digest()[:4], "big")
    return Style(_COLOURS[number % len(_COLOURS)], _DASHES[1 + number // 8 % (len(_DASHES) - 1)])


def styles(printed: list[str]) -> list[Style]:
    """Return the styles of printed specs that share a picture."""
    names = [spec.partition("(")[0] for spec in printed]
    given = []
    for index, name in enumerate(names):
        variant, variants = names[:index].count(name), names.count(name)
        base = style(name)
        if variants == 1:
            given.append(base)
        else:
            lightness = 0.45 * variant / (variants - 1)
            given.append(Style(_lighter(base.colour, lightness), _DASHES[variant % len(_DASHES)]))
    return given


def _lighter(colour: str, amount: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    lightness += (0.85 - lightness) * amount
    mixed = colorsys.hls_to_rgb(hue, lightness, saturation)
    return "#" + "".join(f"{round(255 * part):02X}" for part in mixed)


def short_label(printed: str) -> str:
    """Return a printed spec without what is always the same.

    >>> short_label("nsd-ucrl2(window=800, delta=0.1)"), short_label("oracle-nsd(delta=0.1)")
    ('nsd-ucrl2(window=800)', 'oracle-nsd')
    """
    text = re.sub(r",? ?delta=0\.1", "", printed)
    text = re.sub(r"\(, ", "(", text)
    text = re.sub(r"\(window=None\)|window=None, ", "", text)
    return text.replace("()", "")


def short_labels(printed: Iterable[str]) -> dict[str, str]:
    """Return short names, without any field where the name alone tells policies apart."""
    listed = list(printed)
    names = [one.partition("(")[0] for one in listed]
    return {
        one: name if names.count(name) == 1 else short_label(one)
        for one, name in zip(listed, names, strict=True)
    }
