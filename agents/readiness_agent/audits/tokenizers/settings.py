"""What two tokenizers' files say: special tokens, limits, sides, chat template, vocabulary, and how text is cut."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from readiness_agent.audits.tokenizers.files import TokenizerFiles
from readiness_agent.parsers.run_configs import read_tokenizer_config

_DEFAULTS = {"padding_side": "right", "truncation_side": "right", "add_eos_token": False, "do_lower_case": False}
"""What a library does where a configuration says nothing."""

_NOT_SETTINGS = ("tokenizer_class", "legacy")
"""They name code and its age; what they change shows in the texts."""

_SECTIONS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
_LONGEST = 80


class Difference(NamedTuple):
    """One setting that is not the same."""

    name: str
    said: str


def setting_differences(training: TokenizerFiles, inference: TokenizerFiles) -> List[Difference]:
    """Everything in which the files differ and that changes, or may change, what a model is fed."""
    found = list(_of_configs(training, inference))
    if training.chat_template != inference.chat_template:
        found.append(Difference("chat_template", _which_template(training, inference)))
    if training.fast is not None and inference.fast is not None:
        found += _of_fast(training.fast, inference.fast)
    return found


def _of_configs(training: TokenizerFiles, inference: TokenizerFiles) -> Iterator[Difference]:
    """A file of tokens alone has no configuration, which is no difference when neither side has one."""
    one, other = _told(training), _told(inference)
    for name in sorted({*one, *other} - {*_NOT_SETTINGS}):
        left, right = one.get(name, _DEFAULTS.get(name)), other.get(name, _DEFAULTS.get(name))
        if left != right:
            yield Difference(name, f"training has {_shown(left)}, inference {_shown(right)}")


def _told(files: TokenizerFiles) -> Dict[str, Any]:
    return {fact.name: fact.value for fact in read_tokenizer_config(files.config_text).facts} if files.config else {}


def _which_template(training: TokenizerFiles, inference: TokenizerFiles) -> str:
    if training.chat_template is None or inference.chat_template is None:
        return f"only {'inference' if training.chat_template is None else 'training'} has one"
    return "they are not the same text"


def _of_fast(training: Dict[str, Any], inference: Dict[str, Any]) -> Iterator[Difference]:
    for name in _SECTIONS:
        if _plain(training.get(name)) != _plain(inference.get(name)):
            yield Difference(name, "the two tokenizer.json do not agree in it")
    yield from _of_added(training, inference)
    yield from _of_models(_dict(training.get("model")), _dict(inference.get("model")))


def _of_added(training: Dict[str, Any], inference: Dict[str, Any]) -> Iterator[Difference]:
    """Tokens beside the model's vocabulary: ids, and how they take spaces around them."""
    one, other = _added(training), _added(inference)
    odd = sorted(content for content in {*one, *other} if one.get(content) != other.get(content))
    if odd:
        yield Difference("added_tokens", f"{len(odd)} are not the same, the first is {_shown(odd[0])}")


def _added(fast: Dict[str, Any]) -> Dict[str, Any]:
    tokens = fast.get("added_tokens")
    held = [token for token in tokens if isinstance(token, dict)] if isinstance(tokens, list) else []
    return {str(token.get("content")): _plain(token) for token in held}


def _of_models(training: Dict[str, Any], inference: Dict[str, Any]) -> Iterator[Difference]:
    one, other = _vocabulary(training), _vocabulary(inference)
    odd = {*one.items()} ^ {*other.items()}
    if odd:
        pieces = sorted({piece for piece, _ in odd})
        yield Difference("vocabulary", f"{len(pieces)} pieces have another id, the first is {_shown(pieces[0])}")
    if _merges(training) != _merges(inference):
        yield Difference("merges", "they are not the same, or not in the same order")
    if _rest(training) != _rest(inference):
        yield Difference("model", "its type or its options are not the same")


def _vocabulary(model: Dict[str, Any]) -> Dict[str, Any]:
    """Pieces with their ids; those of Unigram with their scores as well, by which it cuts."""
    held = model.get("vocab")
    if isinstance(held, dict):
        return held
    pairs = enumerate(held) if isinstance(held, list) else ()
    return {str(pair[0]): (number, pair[1]) for number, pair in pairs if isinstance(pair, list) and len(pair) == 2}


def _merges(model: Dict[str, Any]) -> List[Tuple[str, ...]]:
    """Older files write a pair as one text with a space, newer ones as two."""
    held = model.get("merges")
    pairs = held if isinstance(held, list) else []
    return [tuple(pair.split(" ")) if isinstance(pair, str) else tuple(map(str, pair)) for pair in pairs]


def _rest(model: Dict[str, Any]) -> Any:
    return _plain({name: value for name, value in model.items() if name not in ("vocab", "merges")})


def _plain(value: Any) -> Any:
    """Without what is off or not set: newer releases write down what older ones left out."""
    if isinstance(value, dict):
        kept = {name: _plain(its) for name, its in value.items()}
        return {name: its for name, its in kept.items() if its is not None and its is not False}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _dict(value: Any) -> Dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _shown(value: Any) -> str:
    """A setting as a person reads it, no longer than a line."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def special_tokens(files: TokenizerFiles) -> List[str]:
    """Texts of all tokens that are added or special."""
    added = list(_added(files.fast)) if files.fast is not None else []
    named = [value for name, value in _told(files).items() if name.endswith("_token") and value != "null"]
    return [*added, *(value for value in named if isinstance(value, str))]


def highest_id(files: TokenizerFiles) -> Optional[int]:
    """The highest token id that ``tokenizer.json`` defines; None where it does not say."""
    if files.fast is None:
        return None
    model = _vocabulary(_dict(files.fast.get("model")))
    ids = [value[0] if isinstance(value, tuple) else value for value in model.values()]
    ids += [token.get("id") for token in _added(files.fast).values() if isinstance(token, dict)]
    return max((one for one in ids if isinstance(one, int) and not isinstance(one, bool)), default=None)
