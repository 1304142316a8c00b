"""Decide whether the words around a value hand it over: it is taken out of an answer only where they do."""

from __future__ import annotations

import re
from typing import Final

from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.no_attempt import (
    alternatives,
    announces,
    apologizes,
    declines,
    no_attempt,
    plain,
)

QUESTIONS: Final = ("?", "？", "؟")
ENDS_OF_LEAD: Final = " \t:：=`\"'*("
NEAR: Final = 300  # characters before and after a value in which its sentence is sought

# How one is told not to do something, and what: the two follow each other.
_FORBIDS = """
    (do not|don't|never|must not|mustn't|should not|shouldn't|cannot|can't|not allowed to|avoid|refrain from)
    nicht|nie|niemals|kein(e|en|er|em|es)?( mehr| so| diese\\w*)?
    (inte|ikke|ej|aldrig|niet|nooit|no|nunca|jam[aá]s|n[aã]o|non|nu|ne|nie|не|нельзя)( meer| lo| la| o| a)?
    n'|ne( le| la| les)?
"""
_DOING = """
    sen[dt]|us(e|ed|ing)\\b|submit|call|run|execut|return|output|answer|reply|give|write|make|cop[iy]|save|deploy|apply
    includ|tak(e|ing)|trust|rely
    \\w*send|schick|\\w*verwend|benutz|nutz|ausf[uü]hr|[uü]bernehm|kopier|schreib|speicher|aufruf
    envo|utilis|ex[eé]cut|emplo|lanc|appel|soumet|enregistr|env[ií]|us[aeo]\\b|us[ae]r|ejecut|utili[cz]|llam|guard|mand
    cham|salv|invi|esegu|chiam|verst|gebrui|verzend|uitvoer|wysyłaj|używaj|uruchamiaj|wykonuj|kopiuj|stosuj|použív|pos[ií]l
    spoušt|odes[ií]l|trimite|folosi|rula|küld|használ|futtas|skick|använd|kör|brug|bruk|kjør
    отправля|использ|запуска|посыла|выполня|копиру|применя|надсила|використ|изпращ
"""
# Where the verb comes first, or the language has its own word or ending for it.
_FORBIDS_OTHERWISE = """
    \\b(sende|schicke|verwende|benutze|nutze|übernimm|führe)\\b.{0,20}\\bnicht\\b
    \\b(gebruik|verstuur|stuur) .{0,20}niet
    \\b(skicka|använd|kör|send|brug|bruk|kjør) (det |den )?(inte|ikke|ej)\\b|\\bälä \\w+|\\bμ(ην|η) \\w+
    (gönder|kullan|çalıştır)m[ae](yin|yın)?\\b|\\bjangan \\w+|\\bhuwag|\\b(đừng|không được) \\w+
    不要|请勿|請勿|切勿|勿|别|別|不得|不可|不能|ないで|しないこと|禁止|하지 ?마|지 마|마세요|마십시오|금지
    لا (ترسل|تستخدم|تنفذ|تشغل)|(אל|לא) ת\\w+|मत |न भेज|ห้าม|อย่า
"""
# What else takes a value back: it is wrong, of the past, of somebody else, only a draft, or waits for something.
_TAKES_BACK = """
    wrong|incorrect|invalid|\\bbad\\b|mistaken|broken|buggy|obsolete|outdated|deprecated|\\bdraft|placeholder|template|
    dummy|
    rejected|refused|failed|failing|cancel\\w*|discard\\w*|ignore|forbidden|prohibited|harmful|dangerous|unsafe
    instead of|rather than|\\b(earlier|previously|before|yesterday|last time|old)\\b
    e?[jx]empl|example|for instance|e\\.g\\.|\\bsample|esempi|beispiel|voorbeeld|przykład|příklad|пример|приклад
    örnek|比如|例えば|例如|예시|예를|مثال|उदाहरण
    \\b(if|unless|until|once|after|when|whether) (you|i|we|the|they|approved|confirmed)\\b|\\bwait|\\bhold off|
    \\bwould (not|never)|
    \\b(approv|confirm|permission|consent)
    falsch|fehlerhaft|ungültig|entwurf|veraltet|abgelehnt|statt\\b|anstatt|anstelle|vorher|früher|wenn sie|falls
    \\bfaux|fausse|incorrect|invalide|brouillon|erron[eé]|refus|au lieu|plut[oô]t que|avant\\b|si vous
    equivocad|inv[aá]lid|borrador|rechazad|en lugar|en vez|antes\\b|si (usted|quiere)|errad|rascunho|rejeitad|em vez
    sbagliat|errat|non valid|bozza|rifiutat|invece|al posto|prima\\b|fout\\b|ongeldig|concept\\b|afgewezen|
    in plaats
    błędn|nieprawidłow|odrzucon|zamiast|неправильн|неверн|ошибочн|недейств|черновик|отклон|вместо|раньше|если
    错误|錯誤|无效|無效|草稿|拒绝|拒絕|而不是|之前|如果|間違|誤り|無効|下書き|却下|代わりに|以前|잘못|틀린|초안|거부|대신|이전
"""
# Whoever negates near a value speaks of something that is not so. In words that announce a file that is common.
_NEGATES = """
    \\b(not|never|nothing|no longer|nor|nicht|kein\\w*|nie|niemals|pas|jamais|aucun\\w*|no|nunca|jam[aá]s|n[aã]o|
    non|mai|niet|geen|nooit|nie|nigdy|ne|není|nu|nem|inte|ikke|ej|aldrig|ei|eivät|değil|yok|tidak|bukan|không|hindi|не|нет|нельзя|никогда|
    ні|δεν|μην|όχι|لا|لم|لن|ليس|לא|אין|नहीं|मत)\\b|n't\\b|[不没沒未无無]|ない|ません|않|아니|못|ไม่
"""
# What is due, where nothing is said but its name: "Answer:".
_NAMES = """
    answer|response|reply|output|result|value|json|object|arguments?|parameters?|params|action|call|request|payload|
    final|data|here|
    antwort|ergebnis|ausgabe|réponse|résultat|sortie|respuesta|resultado|salida|risposta|risultato|resposta|saída|
    antwoord|resultaat|
    odpowiedź|wynik|odpověď|výsledek|válasz|răspuns|svar|vastaus|yanıt|cevap|sonuç|jawaban|hasil|trả lời|kết quả|
    ответ|результат|відповідь|απάντηση|答案|回答|回复|回覆|响应|結果|结果|応答|답변|응답|결과|الإجابة|النتيجة|
    תשובה|उत्तर|คำตอบ
"""
_NAME_ENDS = re.compile(
    r"(?:" + re.sub(r"\s*\n\s*", "|", _NAMES.strip()).replace("||", "|") + r")"
    r"(?:\s+(?:is|are|ist|est|es|is|è|é|follows|below|to send|будет))?$"
)
_ASKS_FIRST = re.compile(
    r"\b(send|run|execut|proceed|call|submit|use|apply|go ahead|confirm|approv|okay|ok|correct|right|want|shall|should|"
    r"senden|ausführen|envoy|exécut|enviar|envíe|ejecut|mando|procedo|отправ|выполн)|[发發送执執行調调]|[か까]\b"
)
_JUDGES = re.compile(
    r"(but|however|although|though|and (it|this)|this|that|it|which|the (above|call|answer|value|json|request))\b"
)
# A value may stand in quotes, in bold or in a tag that names it; struck out, commented out or quoted it is not given.
_MARKS = re.compile(r"[\s\"'`*_:=(«“„\-–—]*")
_TAG = re.compile(r"<(?P<name>[\w-]+)>\s*\Z")
_CLOSING_TAG = re.compile(r"\s*</[\w-]+>")
_ENDS = re.compile(r"[`*'\"”’»)]*[ \t\r]*(?:\n|\Z|[.!;()–—。！؛।-])")
_SENTENCE = re.compile(r"(?<=[.!?…。！？؟।])\s+|(?<=[。！？؟।])|\n+")
_BETWEEN = re.compile(r"\s*(?:(?:ever|yet|just|be|this|that|it|bitte|so|please|diese[nrs]?) )?")
_ASIDE = re.compile(r"\([^()]*\)$")
_ALL_OF_IT = re.compile(r"\b(this|that|it|yet|code|file|above)$")  # and not "with negative numbers"
_TURNS = re.compile(r"(?:\b(?:but|so|therefore|aber|doch|mais|donc|pero|mas|ma|maar|но)\b|但是?|が、)(?P<to>.*)")
_PART = re.compile(r"[:,;–—]\s+|[，、：；]|\b(?:but|so|and|und|et|y|e|i|но)\b")
_FENCE_MARK = re.compile(r"(?:`{3,}|~{3,})\w*")
_FOOTNOTE = re.compile(r"\w \[\d{1,3}\],? +\w")
_OPENING = re.compile(r"[\[{]")


def refuses_around(answer: str, kind: Kind) -> bool:
    """Tell whether the words around a value, in a fence or not, decline or forbid and do not hand it over."""
    words = _FENCE_MARK.sub("", answer)
    value = _OPENING.search(words)
    if value is not None and _forbids(_last_sentence(words[: value.start()])):
        return True
    is_footnote = _FOOTNOTE.search(words) is not None and len(_OPENING.findall(words)) == 1
    if is_footnote and declines(words, anywhere=True):
        return True
    return no_attempt(words, kind=kind) is FaultKind.REFUSED


def is_handed_over(answer: str, value: str) -> bool:
    """Tell whether the words of an answer hand over the one value in it, which may stand in a fence."""
    # A value of one word may stand among the words as well, so what is in a fence is sought there.
    start = answer.find(value, max(answer.find("```"), 0))
    start = start if start >= 0 else answer.index(value)
    return hands_over(answer[:start], answer[start + len(value) :])


def hands_over(before: str, after: str) -> bool:
    """Tell whether words hand over the JSON value between them, from which an action follows: in doubt they do not.

    What stands on lines of its own, or in a fence, is given unless the sentence before it or after it takes it back.
    Within a line the words must announce it, in one of the languages known here, and end with it.
    """
    tag = _TAG.search(before)
    if tag is not None and _NAME_ENDS.search(plain(tag["name"]).replace("_", " ")):
        before, after = before[: tag.start()] + "\n", "\n" + _CLOSING_TAG.sub("", after, count=1)
    before, after = (_FENCE_MARK.sub("\n", part) for part in (before[-NEAR:], after[:NEAR]))
    if not _ENDS.match(after) and not announces(plain(after)):
        return False
    line = before.rpartition("\n")[2]
    lead, rest = _last_sentence(before), _first_sentence(after)
    if lead.endswith(QUESTIONS) or _forbids(lead) or _search(_TAKES_BACK, lead) or _search(_NEGATES, lead):
        return False
    # The sentence after a value may ask whether it is to be sent, or take it back.
    if rest.endswith(QUESTIONS):
        if _ASKS_FIRST.search(rest):
            return False
    elif _forbids(rest) or (_JUDGES.match(rest) and (_search(_TAKES_BACK, rest) or _search(_NEGATES, rest))):
        return False
    if _MARKS.fullmatch(line):
        return True
    bare = _ASIDE.sub("", lead.rstrip(ENDS_OF_LEAD)).rstrip()
    return apologizes(lead) or _announces(lead) or _NAME_ENDS.search(bare) is not None


def shows_only(before: str, after: str) -> bool:
    """Tell whether words show the file between them without handing it over: they forbid it, or decline the task."""
    lead, rest = _last_sentence(before), _first_sentence(after)
    if _forbids(lead) or (_forbids(rest) and _ALL_OF_IT.search(rest)):
        return True
    turns = _TURNS.search(lead)
    return declines(before) and not _announces(lead) and (turns is None or declines(turns["to"]))


def _announces(sentence: str) -> bool:
    return announces(sentence) or any(announces(part.strip()) for part in _PART.split(sentence))


def _forbids(sentence: str) -> bool:
    return _search(_FORBIDS_OTHERWISE, sentence) or any(
        alternatives(_DOING).match(_BETWEEN.sub("", sentence[forbidden.end() :], count=1))
        for forbidden in alternatives(_FORBIDS, begins=r"\b").finditer(sentence)
    )


def _search(table: str, sentence: str) -> bool:
    return alternatives(table).search(sentence) is not None


def _last_sentence(text: str) -> str:
    parts = [part for part in _SENTENCE.split(plain(text[-NEAR:]).rstrip("`\"'*( \t\r\n")) if part.strip()]
    return parts[-1].strip() if parts else ""


def _first_sentence(text: str) -> str:
    parts = (part.strip("`\"'*). \t\r\n") for part in re.split(r"(?<=[.!。！])\s+|\n+", plain(text[:NEAR])))
    return next(filter(None, parts), "")
