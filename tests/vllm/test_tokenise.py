"""Token ids: one begin-of-text token, the template's text, and the papers' wrappers as they were."""

from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from cinorms.core.errors import ConfigError
from cinorms.inference.engines.vllm.tokenise import Tokeniser
from cinorms.prompts.variants import WRAPPERS

LLAMA3 = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n\n"
    "{{ m['content'] | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
TULU = (
    "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
CHAT = [{"role": "user", "content": "How acceptable is this: a door lock records. Options: [neutral]"}]


def tokenizer(template: str | None, adds_bos: bool = True) -> Any:
    """Return a small tokenizer that begins every text with its begin-of-text token, as Llama's do."""
    words = ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"]
    made = Tokenizer(
        models.BPE(
            vocab={c: i for i, c in enumerate([*words, *sorted(pre_tokenizers.ByteLevel.alphabet())])},
            merges=[],
        )
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens(words)
    if adds_bos:
        made.post_processor = processors.TemplateProcessing(
            "<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 0)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=words[0], eos_token=words[1], chat_template=template
    )


def ids_of(tokeniser: Tokeniser, chats: list[Any]) -> list[list[int]]:
    """Return the ids of each chat as lists."""
    return [ids.tolist() for ids in tokeniser.ids(tokeniser.texts(chats))]


@pytest.mark.parametrize(
    ("template", "adds_bos", "n_bos"),
    [(LLAMA3, True, 1), (LLAMA3, False, 1), (TULU, True, 1), (TULU, False, 0)],
)
def test_a_chat_begins_with_one_begin_of_text_token_where_there_is_one(template, adds_bos, n_bos):
    (ids,) = ids_of(Tokeniser(tokenizer(template, adds_bos), "chat_template", "m"), [CHAT])
    assert (ids[:n_bos].count(0), ids.count(0)) == (n_bos, n_bos)


@pytest.mark.parametrize("template", [LLAMA3, TULU])
def test_ids_are_those_of_the_tokenizers_own_chat_template(template):
    made = tokenizer(template)
    chats = [
        CHAT,
        [{"role": "user", "content": " blanks around \n"}],
        [{"role": "system", "content": "Be brief."}, *CHAT],
        [{"role": "user", "content": "{{ braces }} <b>é</b>"}],
    ]
    for chat, ids in zip(chats, ids_of(Tokeniser(made, "chat_template", "m"), chats), strict=True):
        own = made.apply_chat_template(chat, add_generation_prompt=True, tokenize=True, return_dict=False)
        assert [i for i in ids if i != 0] == [i for i in own if i != 0]


def test_literal_wrappers_are_as_the_papers_sent_them():
    made = tokenizer(LLAMA3)
    n_bos = {}
    for wrapper, (before, after) in WRAPPERS.items():
        tokeniser = Tokeniser(made, wrapper, "m")
        assert tokeniser.texts([CHAT]) == [before + CHAT[0]["content"] + after]
        (ids,) = ids_of(tokeniser, [CHAT])
        assert ids == made(before + CHAT[0]["content"] + after)["input_ids"]
        n_bos[wrapper] = ids.count(0)
    # llama3 writes the token that the engine adds: a flaw of the papers' instrument, kept (docs, "Wrappers").
    assert n_bos == {"llama2": 1, "tulu": 1, "llama3": 2, "none": 1}


def test_a_folder_without_tokenizer_is_one_message(tmp_path):
    with pytest.raises(ConfigError, match="holds no tokenizer that can be read"):
        Tokeniser.load(tmp_path, "none", "m")


def test_an_answer_that_melts_into_the_prompt_cannot_follow_it(checkpoint):
    tokeniser = Tokeniser.load(checkpoint, "none", "tiny")
    assert tokeniser.continuation("the options: somewhat accept", "able") is None
    way = tokeniser.continuation("the answer is", " somewhat acceptable")
    assert tokeniser.decode([way]) == [" somewhat acceptable"]
    assert tokeniser.ids(["the answer is somewhat acceptable"])[0].tolist()[-len(way) :] == list(way)
