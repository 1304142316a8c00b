"""Words around a JSON value: the answer is an attempt whatever they say, unless it declines and merely quotes it."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract import RetryContract, Tool, ValueSanitizer
from retrycontract.contract.feedback.answer import examine
from retrycontract.contract.outputs import Kind
from retrycontract.contract.tool import CompiledTool
from retrycontract.languages import compiler_of

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
VALUE = '{"query": "cats"}'


def outcome(answer: Any, kind: Kind = Kind.TOOL_CALL, **options: Any) -> Any:
    return RetryContract([Tool(name="t", input_schema=SCHEMA, kind=kind)]).check("t", "1", answer, **options)


APOLOGIES = (
    "I'm sorry for the confusion. Here is the corrected call:\n{}",
    "I apologize for the error. {}",
    "Sorry, my mistake {}",
    "Sorry! Fixed: '{}'",
    "I'm sorry — {}",
    "Sorry about that!\n\n{}\n\nLet me know if it works.",
    "Unfortunately the first call had a typo; corrected: {}.",
    "Entschuldigung für den Fehler. Hier der korrigierte Aufruf:\n{}",
    "Lo siento, aquí está corregido: {}",
    "Désolé pour l'erreur, voici la correction : {}",
    "Mi scuso per l'errore. Ecco la versione corretta: `{}`",
    "Desculpe pelo erro: {}",
    "Извините за ошибку. Исправленный вызов: {}",
    "抱歉，这是修正后的调用：{}",
    "申し訳ありません。修正しました:\n{}",
    "죄송합니다. 수정했습니다:\n{}",
    "عذرًا على الخطأ: {}",
)
TALKS = (
    "Here you go: {} - hope it helps",
    "Here you go: `{}`",
    "I will now search: {}",
    "I will search with {} and then tell you.",
    "Here is the JSON:\n{}",
    "Let me think about this.\n\nThe user wants cats.\n\n{}",
    "Let me use the {{path}} first.\n{}",
    "Sure, [as you said], here: {}",
    "Claro, aquí está: {}",
    "Gerne! Hier ist der Aufruf: {}",
    "Voici l'appel : {}",
    "好的，这是调用：{}",
    "はい、こちらです：{}",
)
ANNOUNCED = (
    "I cannot see the earlier message, but here is the corrected call:\n{}",
    "I'm sorry, I can't verify the spelling. Here is the call: {} - hope it helps",
    "I'm sorry, I couldn't find the field earlier. Corrected call:\n{}",
    "I can't run it. Arguments: {}",
    "No puedo comprobarlo, pero aquí está la llamada: {}",
    "Ich kann das nicht prüfen, aber hier ist der Aufruf:\n{}",
    "我无法确认，但这是修正后的调用：{}",
)


@pytest.mark.parametrize("kind", [Kind.TOOL_CALL, Kind.EXTRACTION])
@pytest.mark.parametrize("words", ["Output: {}", *APOLOGIES, *TALKS, *ANNOUNCED])
def test_words_around_a_value_are_an_attempt(kind: Kind, words: str) -> None:
    found = outcome(words.format(VALUE), kind)
    assert "no_attempt" not in found.tool_result.metadata
    # A second bracket among the words hides which of them is meant: that is told as a plain fault of syntax.
    keyword = "syntax" if words.count("{") > 1 or "[" in words else "prose"
    assert [error.keyword for error in found.errors] == [keyword]
    assert "gives nothing" not in found.tool_result.content


@pytest.mark.parametrize("words", APOLOGIES[:3] + TALKS[:3])
def test_words_said_instead_of_an_output_are_searched_for_it(words: str) -> None:
    found = outcome(None, callback_error="Nothing was submitted.", said=words.format(VALUE))
    assert "Please send the JSON of your text, which conforms" in found.tool_result.content


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (f"{VALUE} I'm sorry that it took so long.", Kind.TOOL_CALL),
        (f"Sorry, two calls are due:\n{VALUE}\n{VALUE}", Kind.TOOL_CALL),
        (f"Here are both:\n{VALUE}\n{VALUE}", Kind.AGENT_RESPONSE),
        (f"Sorry, here is the call: [{VALUE}]", Kind.TOOL_CALL),
        ("Sorry, here is the wrong name: {\"q\": 1}", Kind.TOOL_CALL),
        ("Sure, the call takes nothing: {}", Kind.TOOL_CALL),
        ('Sure, here is a number: {"n": ' + "1" * 5_000 + "}", Kind.TOOL_CALL),
        ("Here is the list you asked for: [1, 2]", Kind.EXTRACTION),
        ("I'm sorry, here is the list:\n[]\n", Kind.EXTRACTION),
        (f"I'm sorry.\n{VALUE}".encode(), Kind.TOOL_CALL),
    ],
)  # fmt: skip
def test_every_value_that_is_handed_over_is_an_attempt(answer: str | bytes, kind: Kind) -> None:
    assert "no_attempt" not in outcome(answer, kind).tool_result.metadata


QUOTED = (
    "I can't fill in {} because I don't know the query.",
    "I'm sorry, but I can't produce {}.",
    "I'm sorry, {} is not allowed here.",
    "I cannot accept this call:\n{}",
    "I cannot accept the corrected call: {}",
    "I'm sorry, I won't be able to: {}",
    "I'm sorry, but I can't help with that. Here is an example of a call: {}",
    "I can't help with that. A call would look so: {}",
    "No puedo rellenar {} sin más datos.",
    "No puedo ayudarte con eso. Aquí está un ejemplo: {}",
    "Ich kann {} leider nicht ausfüllen.",
    "Das kann ich nicht. Ein Beispiel wäre: {}",
    "Je ne peux pas remplir {} sans la date.",
    "抱歉，我无法填写{}。",
    "申し訳ありませんが、{}は作成できません。",
)


@pytest.mark.parametrize("kind", [Kind.TOOL_CALL, Kind.EXTRACTION])
@pytest.mark.parametrize("words", QUOTED)
def test_a_refusal_that_quotes_a_value_stays_one(kind: Kind, words: str) -> None:
    assert outcome(words.format(VALUE), kind).tool_result.metadata["no_attempt"] == "refused"


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        ('I can\'t fill in {"query": ...} because I know nothing.', Kind.TOOL_CALL, "refused"),
        ("I'm sorry, {query} is unknown to me.", Kind.TOOL_CALL, "refused"),
        ('I\'m sorry, this makes no sense: {"type": "object", "properties": {}}', Kind.TOOL_CALL, "refused"),
        (f"<think>{VALUE}</think>I'm sorry, I can't.", Kind.TOOL_CALL, "refused"),
        (f"<think>{VALUE}</think>Done.", Kind.TOOL_CALL, "only_talk"),
        ("Let me read {path} first.", Kind.TOOL_CALL, "only_talk"),
        ("I will read the paper [1] first.", Kind.EXTRACTION, "only_talk"),
        ("Here is the list you asked for: [1, 2]", Kind.TOOL_CALL, "only_talk"),
        ("I will open " + "{path} " * 500, Kind.TOOL_CALL, "only_talk"),
        ("I can't open it.\n" + "[" * 5_000, Kind.EXTRACTION, "refused"),
        ('I cannot fill in {"a": {"b": {"c": 1}}} for you.', Kind.TOOL_CALL, "refused"),
        ('I can\'t help with that. The format is:\n{\n  "query": "x",\n  "n": 1\n}', Kind.TOOL_CALL, "refused"),
    ],
)
def test_brackets_that_hold_no_value_make_no_attempt(answer: str, kind: Kind, reason: str) -> None:
    assert outcome(answer, kind).tool_result.metadata["no_attempt"] == reason


@pytest.mark.parametrize(
    "answer",
    [
        "Dabei kann ich Ihnen leider nicht weiterhelfen.",
        "Diese Anfrage kann ich nicht erfüllen.",
        "Daar kan ik je niet bij helpen.",
        "Det kan jag tyvärr inte hjälpa till med.",
        "Det kan jeg ikke hjælpe med.",
        "Eso no puedo hacerlo.",
        "In questo non posso aiutarti.",
        "Isso não posso fazer.",
        "W tym nie mogę pomóc.",
        "С этим я помочь не могу.",
        "That I can't do.",
    ],
)
def test_a_refusal_may_begin_with_what_it_declines(answer: str) -> None:
    assert outcome(answer).tool_result.metadata["no_attempt"] == "refused"


F3 = "```"


def judged(text: str | bytes, kind: Kind, name: str = "t") -> tuple[bool, str]:
    schema = {"type": "string"} if kind is Kind.SOURCE_FILE else {"properties": {"a": {"type": "string"}}}
    tool = CompiledTool.of(Tool(name=name, input_schema=schema, kind=kind), compiler_of)
    found = examine(text, tool, ValueSanitizer(), tool_name=name)
    return found.is_valid, found.errors[0].keyword if found.errors else ""


@pytest.mark.parametrize(
    "refusal",
    [
        'I\'m sorry, but I can\'t help with that. A valid answer would look like this: {"a": "b"}',
        f'I\'m sorry, but I can\'t help with that. A valid answer would look like this:\n{F3}json\n{{"a": "b"}}\n{F3}',
        'I cannot do that.\n\n{"a": "b"}',
        "I'm sorry, I can't do that. For example {'a': 'b'}",
    ],
)
@pytest.mark.parametrize("kind", [Kind.AGENT_RESPONSE, Kind.TOOL_CALL, Kind.EXTRACTION])
def test_a_value_that_a_refusal_shows_is_never_the_output(refusal: str, kind: Kind) -> None:
    assert judged(refusal, kind)[0] is False
    assert judged(refusal.encode(), kind)[0] is False
    if kind is Kind.AGENT_RESPONSE:
        assert judged(refusal, kind)[1] == "refused"


@pytest.mark.parametrize(
    "lead", ["Sorry for the confusion. Here is the corrected answer: ", "I apologize for the mistake:\n\n"]
)
@pytest.mark.parametrize("value", ['{"a": "b"}', f'\n{F3}json\n{{"a": "b"}}\n{F3}'])
def test_what_an_apology_hands_over_is_the_answer(lead: str, value: str) -> None:
    assert judged(lead + value, Kind.AGENT_RESPONSE)[0] is True


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ("Sure! Here it is: {'a': 'b'}", "prose"),
        ("Here you are: {a: 1}", "prose"),
        ('Sure, here it is: {"a": "b', "truncated"),
        ("I would use the {name} of the city.", "only_talk"),
        ("Sure! I have done it.", "only_talk"),
    ],
)
@pytest.mark.parametrize("kind", [Kind.AGENT_RESPONSE, Kind.TOOL_CALL, Kind.EXTRACTION])
def test_a_value_with_slips_after_talk_is_an_attempt(text: str, keyword: str, kind: Kind) -> None:
    assert judged(text, kind) == (False, keyword)


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ('Sorry for the mistake, here is the file:\n{"a": 1}', "fenced"),
        ("I'm sorry, I can't do that.", "refused"),
        ('I cannot write that. An example would be {"a": 1}', "refused"),
    ],
)
def test_a_json_file_after_an_apology_is_asked_for_in_a_fence_and_never_written(text: str, keyword: str) -> None:
    assert judged(text, Kind.SOURCE_FILE, "a.json") == (False, keyword)
