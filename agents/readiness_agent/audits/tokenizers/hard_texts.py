"""Texts on which tokenizers that look alike part: each stands for a kind of text that a corpus holds somewhere."""

from __future__ import annotations

from typing import Iterable, Iterator, List, NamedTuple

SPECIAL_LOOK_ALIKES = (
    "<s>", "</s>", "<unk>", "<pad>", "[CLS]", "[SEP]", "[MASK]", "[INST]", "[/INST]", "<|endoftext|>", "<|im_start|>",
    "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "<bos>", "<eos>", "<｜end▁of▁sentence｜>", "< s >", "<S>",
    "<|endoftext |>",
)  # fmt: skip
"""Special tokens of families of models, and texts that only look like them."""

_PLAIN = {
    "a sentence": "The quick brown fox jumps over the lazy dog.",
    "contractions": "I'm sure they'd've said it isn't; WE'LL see, y'all.",
    "accents, composed": "Café naïve Zürich señor Ångström",
    "accents, combining": "Cafe\u0301 nai\u0308ve Zu\u0308rich sen\u0303or A\u030angstro\u0308m",
    "many combining marks": "Z\u0351\u036b\u0343\u036a\u0302\u036b a\u0317\u0319\u0353l\u0323g\u0321o\u0354",
    "ligatures and compatibility forms": "ﬁnd ｆｕｌｌ ｗｉｄｔｈ ① ½ ㎏ Ⅷ ſ",
    "capitals that fold oddly": "İstanbul ISTANBUL ıstanbul STRASSE Straße ΌΣΟΣ",
    "emoji": "I ❤️ this 😀 🎉",
    "emoji of a family": "👨‍👩‍👧‍👦 and 👩🏽‍🚀 and 🏳️‍🌈 and 🇺🇳",
    "emoji with skin tones": "👍🏻👍🏽👍🏿",
    "rare planes": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𓂀 🜁",
    "Chinese": "深度学习模型的训练需要大量数据。",
    "Chinese beyond the first plane": "𠮷野家 𪚥",
    "Japanese": "東京タワーでﾗｰﾒﾝを食べました。",
    "Korean": "한국어 문장을 나누어 봅시다.",
    "Korean in single letters": "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165",
    "Thai": "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
    "Hindi": "हिन्दी में संयुक्ताक्षर क्षत्रिय",
    "Arabic": "اللغة العربية تُكتب من اليمين إلى اليسار",
    "Hebrew with points": "בְּרֵאשִׁית בָּרָא אֱלֹהִים",
    "two directions": "The word \u200fשלום\u200e means peace \u202eabc\u202c.",
    "Russian": "Съешь же ещё этих мягких французских булок",
    "Greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "mixed scripts": "Tokyo東京Москваالقاهرة2024年",
    "numbers": "0 1 12 123 1234 12345 1234567890 3.14159 1e-10 1,000,000 ١٢٣ २०२४",
    "Python": "def f(x: int) -> str:\n\treturn f\"{x!r:>10}\"  # noqa\n",
    "C": "for (int i = 0; i < n; i++) { a[i] ^= ~b[i] >> 2; }\r\n",
    "indented code": "if a:\n    if b:\n        return c\n\n\nelse:\n\tpass\n",
    "JSON": '{"a": [1, null, true], "b": {"c": "\\u00e9\\n"}}',
    "LaTeX": "$\\frac{\\partial f}{\\partial x} = \\sum_{i=1}^{n} x_i^2$",
    "a URL": "https://example.org/path?q=1&r=%20#part",
    "HTML": "<p class=\"x\">a &amp; b&nbsp;c</p><!-- d -->",
    "spaces before": "   leading",
    "spaces after": "trailing   ",
    "runs of spaces": "a  b   c    d        e                h",
    "tabs and line ends": "a\tb\t\tc\nd\n\ne\r\nf\rg",
    "only spaces": "     ",
    "only line ends": "\n\n\n",
    "spaces of other widths": "a\u00a0b\u2003c\u3000d\u202fe\u2009f",
    "invisible characters": "a\u200bb\u200cc\u200dd\ufeffe\u00adf\u2060g",
    "control characters": "a\x00b\x01c\x07d\x1be\x7ff\x85g",
    "line and paragraph separators": "a\u2028b\u2029c",
    "the character for lost bytes": "a\ufffdb",
    "characters that are none": "a\ufdd0b\ue000c",
    "quotes and dashes": "“a” ‘b’ «c» „d“ – — ― … ‐ ‑",
    "runs of punctuation": "!!!???...---===###***///\\\\\\",
    "a very long word": "pneumono" * 64,
    "a long run of one letter": "a" * 1_000,
    "a long run without spaces": "深度" * 300,
    "a long line of bytes": "Zm9vYmFy" * 100 + "==",
    "the empty text": "",
    "one space": " ",
    "one letter": "a",
    "a lower mark, as pieces write a space": "▁a ▁ b▁",
    "a marked space of bytes": "ĠaĊb",
    "bytes spelt out": "<0x0A><0xFF>",
}  # fmt: skip


class HardText(NamedTuple):
    """One text, and what it stands for."""

    name: str
    text: str


def hard_texts(special_tokens: Iterable[str]) -> List[HardText]:
    """All of them; *special_tokens* are those of the tokenizers at hand, which texts of users may hold as well."""
    own = sorted(set(special_tokens) | set(SPECIAL_LOOK_ALIKES))
    return [*(HardText(name, text) for name, text in _PLAIN.items()), *_with_special(own)]


def _with_special(tokens: List[str]) -> Iterator[HardText]:
    for token in tokens:
        yield HardText(f"{token!r} in a text", f"before {token} after{token}{token} end")
    yield HardText("all special tokens in a row", "".join(tokens))
