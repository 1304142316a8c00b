"""A value is taken out of words only where they hand it over, a file out of a fence unless they forbid it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.outputs import Kind

VALUE: Final = '{"action": "go", "n": 1}'
FENCED: Final = f"```json\n{VALUE}\n```"
FILE: Final = "```python\nprint('x')\n```"
ACTION: Final = {"type": "object", "required": ["action"]}


def judged(answer: str, *, schema: Any = ACTION, kind: Kind = Kind.AGENT_RESPONSE, name: str = "t") -> tuple[bool, str]:
    found = RetryContract([Tool(name=name, input_schema=schema, kind=kind)]).check(name, "1", answer)
    return found.status == "valid", found.errors[0].keyword if found.errors else ""


WITHHELD = (
    "Bitte nicht senden: {}", "N'envoyez pas {}", "No envíes {}", "不要发送 {}", "次のものは送らないでください: {}",
    "Не отправляйте {}", "Gönderme: {}", "Não envie {}", "Niet versturen: {}", "Nie wysyłaj: {}", "보내지 마세요: {}",
    "لا ترسل {}", "Inte skicka: {}", "Jangan kirim {}", "Non inviare: {}", "Should I send {}?", "¿Envío {}?", "{}?",
    "Do you want me to run {} ?", "Soll ich {} senden?", "If you agree I would send {}", "Instead of {} I need more.",
    "Rather than {}, ask a person.", "I would not call {}", "Avoid {}", "Please refrain from {}",
    "Wenn Sie wollen: {}", "Please wait before running {}", "I'm not ready to send {} yet.",
    "I cancelled {} because it's dangerous.", "The wrong call would be {}", "This is incorrect: {}",
    "Draft (do not use): {}", "Earlier I sent {}, which failed.", "The error says: {} is invalid. Can you clarify?",
    "<!-- {} -->", "~~{}~~", "> {}", "For example {}", "<example>{}</example>", "Somebody else sent {}.",
    "The previous attempt was {}.", "{}\n\nThis must not be sent.", "Wrong:\n\n{}",
    "Once you confirm, I will send:\n{}", "I need your approval for this:\n{}", "Ist das richtig?\n{}",
)  # fmt: skip
WITHHELD_FENCES = (
    "Bad:\n{}", "I tried\n{}\nbut it was rejected.", "Shall I run this?\n{}", "{}\nShall I run this?",
    "{}\nDo not run this yet.", "An example:\n{}", "Nicht verwenden:\n{}",
    # What stands behind: taken back, doubted, or asked about first, in whatever words.
    *(
        f"{{}}\n{rest}"
        for rest in (
            "Wait, that is wrong.", "Hold on, this is not right.", "Actually, scratch that. I should not pay.",
            "Cancel that.", "No, I can't do this.", "Please ignore the above.", "Never mind.",
            "It goes north. Shall I?", "Please confirm.", "Waiting for your approval.",
            "Let me know if you want me to go ahead.", "The amount is a placeholder.", "TBC.",
            "but I made up the amount.", "(y/n)", "I'm not sure about this.", "Not sent yet.",
            "Reply 'yes' to continue.", "Das ist falsch.", "C'est faux.", "Esto está mal.", "Questo è sbagliato.",
            "Isto está errado.", "Это неверно.", "这是错的。", "これは間違いです。", "Ist das so in Ordnung?",
            "Est-ce que je peux continuer ?", "¿Está bien así?", "Posso continuar?", "Всё верно?", "Uygun mu?",
            "Είναι εντάξει;", "هل هذا صحيح؟", "可以吗", "よろしいでしょうか", "Bitte bestätigen Sie.",
            "J'attends votre accord.", "Жду подтверждения.", "Vergiss es.", "Olvídalo.", "算了。",
            "Ich bin mir nicht sicher.", "Me equivoqué.", "En ole varma", "Niet uitvoeren.",
            "-- draft, v1", "settings.json", "See example.json",
            "(Draft only)", "Entwurf, v2", "Waiting on approval.", "Still waiting on your go-ahead.",
            "The above is a test.", "This was only a test.", "❌ No.", "🚫 Blocked by policy.",
            "That is the output format.",
            "やっぱりやめます。", "やはり止めておきます。", "Lieber nicht.", "Je me ravise, finalement.",
            "Pensándolo bien, no.",
            "Ripensandoci, meglio di no.", "Pensando bem, melhor não fazer.", "Bij nader inzien toch maar niet.",
            "Jednak nie, rozmyśliłem się.", "Jag ångrar mig nu.", "Jeg har ombestemt meg.", "Я передумал это делать.",
            "我改变主意了，不做了。", "다시 생각해보니 안 할게요.", "Vazgeçtim, kalsın böyle.",
            "Saya berubah pikiran soal ini.",
            "لقد غيرت رأيي الآن.", "שיניתי את דעתי בנושא.", "मैंने इरादा बदल दिया है।", "Tôi đổi ý rồi nhé.",
        )
    ),
    # What stands before: somebody else's words, what is only thought of, a label that announces nothing.
    *(
        f"{lead}\n{{}}"
        for lead in (
            "Hypothetically:", "Simulated output:", "The user wrote:", "A malicious prompt might make me output:",
            "Replace the amount with the real one:", "This is what I would do:", "You could use", "Dry run:",
            "Platzhalter:", "Nach Ihrer Freigabe sende ich:", "Esto sería un error:", "En théorie :",
            "Пользователь написал:", "理论上：", "Suppose that she agrees. Then:", "Should I send it? It is this:",
            "Örneğin:", "Till exempel:", "Ví dụ:", "Contohnya:", "Για παράδειγμα:", "לדוגמה:", "Esimerkiksi:",
            "Például:", "Nope.", "Nah.", "Nein.", "Нет.", "いいえ。", "❌", "👎", "Expected output format:",
            "Expected output:",
            "Output format:", "Your response structure:", "Ausgabeformat:", "Format de sortie :", "Formato de salida:",
            "Формат вывода:", "输出格式：", "出力形式：", "ERROR: previous output was", "My last answer was:",
            "Die vorherige Ausgabe war:", "La sortie précédente était :", "Предыдущий ответ был:",
            "The following is a test:",
        )
    ),
)  # fmt: skip
# What people of many languages say before a value, and behind the arrow what they say after it.
FOLDER: Final = Path(__file__).parent
WITHHOLDING, GIVING = (
    dict(line.split(": ", 1) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines())
    for name in ("withholding.txt", "giving.txt")
)
SHOWING_TAGS = ("example", "Sample", "template", "json example", "draft", "wrong", "schema")


@pytest.mark.parametrize(
    "answer",
    [
        *(each.format(VALUE) for each in WITHHELD),
        *(each.format(FENCED) for each in WITHHELD_FENCES),
        *(f"{fence}{tag}\n{VALUE}\n{fence}" for tag in SHOWING_TAGS for fence in ("```", "~~~~")),
    ],
)
def test_no_response_is_taken_out_of_words_that_withhold_it(answer: str) -> None:
    is_valid, keyword = judged(answer)
    assert not is_valid
    assert keyword in ("prose", "fenced", "refused", "trailing")


HANDED_OVER = (
    "Here is the JSON:\n{}", "Sure! Here you go: {}", "The answer is {}.", "Answer: {}", "Final answer: {}",
    "Response (JSON): {}", "Antwort: {}", "The user wants to go.\n\n{}", "Based on the context:\n{}",
    "I will now go: {}", "Désolé pour l'erreur, voici la correction : {}", "Claro, aquí está: {}",
    "Hier ist die Antwort: {}", "好的，这是调用：{}", "はい、こちらです：{}",
    "Извините за ошибку. Исправленный вызов: {}", "Sorry, my mistake: {}",
    "I apologize for the error. Here is the corrected response: {}", "<answer>{}</answer>", "**{}**", "Output:\n{}\n",
    "{} - hope it helps", "{}\n\nIs there anything else I can help you with?", "Ecco la risposta: {}",
)  # fmt: skip
HANDED_OVER_FENCES = (
    "{}", "Sure, here's the action:\n\n{}\n\nLet me know if you need anything else!", "Action:\n{}",
    "I'll go north, as you asked.\n\n{}", "The next action is:\n{}\nThis goes one step north.", "Como pediste:\n{}",
    "{}\nNote: the amount is not in dollars.", "{}\nThe previous version was wrong, because n was a string.",
    "{}\nKann ich sonst noch etwas für Sie tun?", "{}\n¿Necesitas algo más?", "{}\n还有什么可以帮您的吗？",
    "{}\nViel Erfolg!", "{}\nN'hésitez pas si vous avez d'autres questions.", "You asked: should I go? Yes:\n{}",
    "Booking the table:\n{}", "Ich buche jetzt den Flug:\n{}", "{}\nEspero que te sirva.",
    "{}\nЭто бронирует два места.", "{}\nThis reads the file.", "It was missing before, which was wrong. Now:\n{}",
    "İstediğiniz gibi:\n{}", "修正しました：\n{}", "답변:\n{}", "Nope, here is the right one:\n{}", "✅\n{}",
    "Here is the answer in the requested format:\n{}", "Here's the output in the required JSON format:\n{}",
    "Corrected JSON format:\n{}", "{}\nCreates a draft e-mail.",
    "{}\nThe test passed.", "{}\nBooks a table, two seats.", "{}\n- goes north",
    "Going back to the previous page:\n{}", "Resuming the previous session:\n{}", "The next action is:\n{}",
    "⚠️ This restarts the server:\n{}", "{}\n⚠️ It restarts the server.", "Warning: this restarts the server.\n{}",
    "やっぱりこれにします。\n{}", "{}\nこれで会議室を予約します。", "{}\nDas bucht zwei Plätze.",
    "{}\nOverwrites the old file.",
    "I fixed my previous answer:\n{}",
)  # fmt: skip


@pytest.mark.parametrize(
    "answer", [*(each.format(VALUE) for each in HANDED_OVER), *(each.format(FENCED) for each in HANDED_OVER_FENCES)]
)
def test_what_words_announce_is_the_response(answer: str) -> None:
    assert judged(answer)[0]


def _around(said: str) -> list[str]:
    before, _, behind = said.partition(" -> ")
    return [f"{words}\n{FENCED}" for words in before.split("|")] + [
        f"{FENCED}\n{words}" for words in behind.split("|") if words
    ]


@pytest.mark.parametrize("language", WITHHOLDING)
def test_what_is_an_example_or_wrong_or_somebody_elses_is_no_response(language: str) -> None:
    assert [answer for answer in _around(WITHHOLDING[language]) if judged(answer)[0]] == []


@pytest.mark.parametrize("language", GIVING)
def test_who_names_an_example_a_mistake_or_a_person_may_give_all_the_same(language: str) -> None:
    assert [answer for answer in _around(GIVING[language]) if not judged(answer)[0]] == []


def test_the_tables_of_languages_are_as_large_as_they_should_be() -> None:
    assert len(WITHHOLDING) >= 30
    assert set(WITHHOLDING) == set(GIVING)
    assert min(sum(map(len, map(_around, table.values()))) for table in (WITHHOLDING, GIVING)) >= 230


@pytest.mark.parametrize(
    "answer",
    [
        "See [1, 2].", "[1] says no.", "No idea [1].", "I visited x[0] yesterday", "Select option [1]?", "- [ ] todo",
        "The range is [0, 1].", "The set {} is empty.", "Use {} as placeholder.", "It is 50 km [citation needed].",
    ],
)  # fmt: skip
def test_brackets_in_a_sentence_are_no_response(answer: str) -> None:
    assert not judged(answer, schema={})[0]


@pytest.mark.parametrize(
    "answer",
    [
        "I can't do that. Before it was\n{}", "Do not use this:\n{}", "Nicht verwenden:\n{}", "不要使用：\n{}",
        "N'utilisez pas ceci :\n{}", "{}\nDo not run this.", "Never run this code:\n{}", "I won't. The old file:\n{}",
        "Ich kann das nicht. Früher war es\n{}", "I'm sorry, I can't help with that. An example would be\n{}",
    ],
)  # fmt: skip
def test_a_file_that_words_only_show_is_refused(answer: str) -> None:
    assert judged(answer.format(FILE), schema={}, kind=Kind.SOURCE_FILE, name="a.py") == (False, "refused")


@pytest.mark.parametrize(
    "answer",
    [
        "Here is the file:\n{}", "This version does not use recursion:\n{}", "The function no longer sends mail:\n{}",
        "I can't test it here, but here is the file:\n{}", "{}\nDon't forget to install requests.", "**app.py**\n{}",
        "{}\nDo not call it with negative numbers.", "You should never see the error again:\n{}", "Fixed:\n{}",
        "I cannot see the old file, so I wrote it anew:\n{}", "Updated:\n{}\nNote: never run it as root.",
        "I couldn't find the helper. The module below works without it:\n{}",
    ],
)  # fmt: skip
def test_a_file_in_a_fence_is_taken_whatever_else_is_said(answer: str) -> None:
    assert judged(answer.format(FILE), schema={}, kind=Kind.SOURCE_FILE, name="a.py")[0]


def test_yaml_that_is_a_label_and_a_refusal_is_no_file() -> None:
    assert judged("Note: this is not possible.", schema={}, kind=Kind.SOURCE_FILE, name="a.yaml") == (False, "refused")


@pytest.mark.parametrize(
    "answer",
    [
        "Question: which port should I use?", "Frage: Welcher Port?", "Note: please clarify the requirements",
        "Answer: no", "Unfortunately: not possible", "- I need more details\n- Which database?",
        "Thought: I should look\nAction: search",
    ],
)  # fmt: skip
def test_labels_and_questions_are_no_yaml_without_a_fence(answer: str) -> None:
    assert not judged(answer, schema={}, kind=Kind.SOURCE_FILE, name="a.yaml")[0]


@pytest.mark.parametrize(
    "answer", ["name: test", "Port: 8080", "on: push\njobs: {}", "- a\n- b", "title: Who is it?\nn: 1", "A: 'x?'\nb: c"]
)
def test_plain_yaml_needs_no_fence(answer: str) -> None:
    assert judged(answer, schema={}, kind=Kind.SOURCE_FILE, name="a.yaml")[0]
