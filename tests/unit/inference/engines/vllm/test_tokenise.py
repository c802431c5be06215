"""Which texts and tokens a chat becomes, by a tokenizer whose tokens are letters."""

import pytest

from cinorms.core.errors import ConfigError
from cinorms.inference.engines.vllm.tokenise import Tokeniser

from .conftest import Letters

CHAT = [{"role": "user", "content": "x"}]


def test_a_chat_becomes_the_text_of_its_template_or_wrapper():
    own = Tokeniser(Letters(), "chat_template", "m", {"thinks": True})
    assert own.texts([CHAT]) == ["x|date_string=26 Jul 2024|thinks=True|assistant:"]
    wrapped = Tokeniser(Letters(), "tulu", "m")
    assert wrapped.texts([CHAT]) == ["<|user|>\n x \n\n<|assistant|>"]
    assert [each.ids(["x"])[0].tolist() for each in (own, wrapped)] == [[120], [2, 120]]


@pytest.mark.parametrize(("bos", "begin"), [(None, ""), (65, ""), (97, "<s>")])
def test_a_prompt_begins_once_as_the_tokenizer_begins_every_text(bos, begin):
    letters = Letters()
    letters.bos_token, letters.bos_token_id = "<s>" if bos else None, bos
    tokeniser = Tokeniser(letters, "chat_template", "m")
    chats = [[{"role": "user", "content": text}] for text in ("x", "<s>x")]
    once, written = tokeniser.texts(chats)
    assert (once[: len(begin) + 1], written[:4]) == (f"{begin}x", "<s>x")


def test_an_answer_that_melts_into_the_prompt_cannot_follow_it():
    tokeniser = Tokeniser(Letters(one_token=True), "none", "m")
    assert tokeniser.continuation("a", "bc") == (98, 99)
    assert tokeniser.continuation("a", "") is None
    assert tokeniser.continuation("a</thin", "k> and more text") is None


def test_what_a_template_cannot_is_one_message():
    letters = Letters()
    letters.chat_template = None
    with pytest.raises(
        ConfigError, match=r"'m': its tokenizer has no chat template; .*`wrap`, allowed: llama2"
    ):
        Tokeniser(letters, "chat_template", "m")
    Tokeniser(letters, "none", "m")
    refusing = Tokeniser(Letters(), "chat_template", "m")
    with pytest.raises(
        ConfigError, match=r"refuses the messages \['system'\] \('content'\); use layout: single"
    ):
        refusing.texts([[{"role": "system"}]])
