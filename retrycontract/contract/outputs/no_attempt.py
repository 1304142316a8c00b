"""Decide, for every kind of output and every door, whether an answer is an attempt or a refusal or small talk."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import ENDS, FaultKind
from retrycontract.contract.outputs.thoughts import INVISIBLE, without_thoughts

OPENING = 600  # characters in which a refusal says that it is one; longer texts explain, or are no refusal
SENTENCES = 4  # of them: thanks, an apology and what the model is come before "I cannot"
MAX_PARAGRAPH = 4_000  # characters; a longer paragraph is somebody's text
MAX_LEAD = 100  # characters before a list in which the colon or the line's beginning is sought
MAX_BRACKETS = 20  # of a text that are tried for a value: each may take a walk to the text's end

# How an apology begins a text. Each line is a language or a few that are near to each other.
_APOLOGIES = """
    i'?m (very |really |so |truly |deeply )?(sorry|afraid)|i am (very |really |so |truly |deeply )?(sorry|afraid)
    sorry|so sorry|(my |our |sincere |deepest )*(apologies|apology)|i (do |must |sincerely )?apologi[sz]e|forgive me
    unfortunately|regrettably|i regret|we regret|regretfully|alas\\b
    lo siento|lo lamento|lamento|disculp|perd[oó]n|desafortunadamente|lamentablemente|mis disculpas
    (je suis |nous sommes )?(vraiment |sincèrement )?d[eé]sol[eé]|je (regrette|m'excuse)|excuse[zs]|malheureusement
    (toutes )?mes excuses|navr[eé]
    (es |das )?tut mir( sehr| wirklich)? leid|entschuldig|verzeih|leider|bedauerlicherweise|(ich )?bedau[e]?re
    mi dispiace|mi scuso|spiacente|purtroppo|scus[ai]|chiedo scusa
    desculp|sinto muito|lamento|infelizmente|pe[cç]o desculpa
    het spijt me|helaas|mijn excuses|excuses|neem me niet kwalijk
    przepraszam|przykro mi|niestety|wybacz|omlouv|bohužel|promi[nň]te?|je mi l[ií]to|ospravedl|žiaľ|prepáč
    îmi pare r[aă]u|din p[aă]cate|sajn|eln[eé]z[eé]st|žao mi je|nažalost|oprostite|žal
    tyvärr|förlåt|jag beklagar|jag är ledsen|beklager|dessverre|unnskyld|desværre|undskyld|jeg er ked af
    anteeksi|valitettavasti|pahoittelen|kahjuks|vabandust|diemžēl|atvainojiet|atsiprašau
    üzgün|maalesef|özür|ne yazık|kusura bakma|maaf|mohon maaf|xin lỗi|rất tiếc|paumanhin|ikinalulungkot|samahani
    извин|к сожалению|прости(те)?\\b|сожалею|мне жаль|приношу извинения|вибач|на жаль|перепрошую|мені шкода|
    съжалявам|жал ми је
    συγγν[ωώ]μη|λυπ[αά]μαι|δυστυχ[ωώ]ς|ζητώ συγγνώμη
    (非常|很|真的|实在|實在|十分)?(抱歉|对不起|對不起|遗憾|遺憾|不好意思)|申し訳|すみません|ごめん|恐れ入り|残念
    (정말 |대단히 )?(죄송|미안)|유감|안타깝
    (أنا )?(آسف|أعتذر|عذر)|للأسف|معذرة|متأسف|متاسف|ببخش|معذرت
    (אני )?(מצטער|מתנצל)|סליחה|לצערי|माफ़?|क्षमा|मुझे खेद|खेद|দুঃখিত|ক্ষমা|மன்னிக்க|ขอโทษ|ขออภัย|เสียใจ
"""
# How a sentence declines, wherever it stands among the first ones.
_DECLINES = """
    (but |however,? |so |as such,? |therefore,? |and )?((with )?(that|this),? )?(i|we)( simply| really| just|
    currently| also)? (can ?not|can't|cant|
    won't|will not|could not|couldn't|am (not able|unable|not allowed|not permitted|not comfortable|not going|
    prevented)|
    're (not able|unable)|must (decline|refuse)|have to (decline|refuse)|need to decline|refuse|decline|
    (do not|don't) (have (access|permission|the ability|enough|any|the)|feel comfortable|think i can)|lack the)
    i'?m (not able|unable|not allowed|not permitted|not comfortable|not going|just an? |only an? |an? (ai|large|
    language))
    as an? (ai|artificial|large|language|responsible|assistant)|(this|that|your|the) request (violates|
    goes against|is against)
    (it|this|that)( is|'s) not (possible|feasible|doable)
    it (would be|is) (inappropriate|unethical|not appropriate|against)|(that|this)('s not|
    is not| isn't) something|(that|this)('s| is) something i can
    ((en |con )?(eso|esto|ello) )?no (puedo|podr[eé]|me es posible|soy capaz|estoy|tengo (acceso|permiso))
    como (modelo|ia|inteligencia)
    je (ne peux|ne suis|ne saurais|n'ai pas|refuse)|en tant qu
    (ich (kann|darf|werde|möchte)|([^\\W\\d_]+ ){0,3}(kann|darf|werde|möchte) ich)\\b[^.!?]{0,120}\\b(nicht|kein)
    ich bin nicht
    (es )?ist (es )?mir (leider )?(nicht|un)( ?möglich| erlaubt)|als (ki|sprachmodell)
    ((in |con |di )?quest[oa] )?non (posso|sono in grado|mi è possibile)
    ((com )?n?is[st]o )?n[aã]o (posso|consigo|sou capaz|tenho)|como (um )?modelo
    (ik (kan|mag|ben)|([^\\W\\d_]+ ){0,3}(kan|mag) ik)\\b[^.!?]{0,120}\\b(niet|geen)
    s t[ií]m nem|((w|z) tym |tego )?nie (mog[eę]|jestem)|nemohu|nemůžu|nu pot|nem tud
    (jag kan|([^\\W\\d_]+ ){0,3}kan jag)( tyvärr)? inte|(jeg kan|([^\\W\\d_]+ ){0,3}kan jeg) (desværre |dessverre )?ikke
    en (voi|pysty|saa|osaa|kykene)|ma ei saa|yapam|yardımcı olam|.{0,60}\\w[ae]m[ae](m|yız|yacağ[ıi]m)\\b
    saya tidak (bisa|dapat)|(tôi|mình) không thể|hindi ko (magagawa|kaya)|siwezi
    (но |однако )?я (не (могу|буду|умею|имею)|вынужден)
    ((с|в) этим |этого )?(я )?(помочь |сделать )?не могу|(але )?я не можу|не можу|не мога|не могу
    δεν μπορ[ωώ]|(作为|作為|身为).{0,12}(ai|人工智能|语言模型|助手)|(但)?(我|本人)?(不能|无法|無法|没办法|沒辦法|
    不可以)
    .{0,60}(できません|できかねます|いたしかねます|お手伝いでき)|.{0,60}([가-힣] 수 (는 |가 )?없|불가능합니다)
    لا (أستطيع|يمكنني|يمكن)|لن أ|نمی.?توانم|(אני )?(לא יכול|איני יכול|לא אוכל)|.{0,60}नहीं (\\S+ )?सकत|
    .{0,60}পারি না|.{0,20}ไม่สามารถ
"""
# What a model declines to do, where a page or a story declines something else: "Sorry, I cannot come."
_TASKS = """
    \\b(help|assist|comply|fulfil|provide|creat|writ|generat|produc|complet|access|(do|with) (this|that|so)|something i)
    \\b(language|ai) model\\b|\\bdas nicht\\b
    \\b(ayud|crear|escrib|generar|proporcion|hacer|aide[rz]|cr[eé]er|[eé]crire|g[eé]n[eé]rer|fournir|faire)
    \\b(helf|erstell|schreib|generier|liefer|tun\\b|aiut|creare|scriver|fornir|fare\\b|ajud|criar|escrev|gerar|fazer)
    \\b(maken|schrijv|doen\\b|pom[oóa]|utworz|napis|zrobi|vytvo|ud[eě]l|aju[dt]|crea\\b|seg[ií]t|l[eé]trehoz)
    \\b(hjälp|skapa|skriv|göra|hjælp|hjelp|oprett|opprett|gøre|luoda|auta|autta|yard[ıi]m|oluştur|yaz|yap)
    \\b(помо[чг]|созда|написа|сдела|допом|створ|зроб|βοηθ|δημιουργ|γράψ|membu|membantu|giúp|tạo\\b)
    [帮幫写寫]|[协協]助|提供|创建|創建|生成|满足|手伝|作成|応え|対応|도와|만들|작성|제공|مساعد|إنشاء|کمک|بساز|לעזור|ליצור
    मदद|बना|সাহায্য|তৈরি|ช่วย|สร้าง
"""
# How talk opens that announces, acknowledges or greets.
_OPENERS = """
    sure|sure thing|certainly|of course|absolutely|definitely|okay|ok|alright|all right|right|great|perfect|
    excellent|done|
    finished|complete[d]?|got it|understood|acknowledged|noted|thank you|thanks|hello|hi|hi there|hey|welcome|
    no problem|happy to (help|assist)|glad to|gladly|as requested|as you (asked|requested)|yes|yep|no|nope|
    good question|well
    here('s| is| are| you go| you are| it is| they are|'re)|(below|above|following) (is|are|you)|the following|
    this is (the|your|a)|
    (i've|i have|i just|i|we've|we have) (now |just |also |already )?(written|wrote|created|generated|made|saved|
    added|updated|
    prepared|implemented|finished|completed|put|fixed|corrected|attached|included|produced|drafted|submitted)|
    (i'll|i will|i am going to|i'm going to|let me|let's|let us|we need|we should|i need|i should|i think|i would|
    i'd|i hope|i see|
    i understand|i want|i must|first,)|(the|your) (file|script|code|yaml|json|config|configuration|data|document|
    page|query|answer|
    output|result|function|class|module)s? (is|are|has|have|was|were|looks?|should|follows?|you|below|above)|
    (what|which|could|can|would|do|does|did|is|are|please) (you|i|the|file|kind|should|want|need|note|find|see|let|
    provide|specify|clarify)
    claro|por supuesto|aqu[ií] (est[aá]|tienes?|va|tem|vai)|listo|entendido|a continuaci[oó]n|hecho|con gusto|vale|
    seguro|hola
    bien s[uû]r|voici|voil[aà]|d'accord|certainement|avec plaisir|fait|bonjour|ci-dessous|termin[eé]
    nat[uü]rlich|gern[e]?|hier (ist|sind|kommt|is|zijn)|selbstverst[aä]ndlich|klar|fertig|erledigt|verstanden|
    hallo|unten|ich habe
    certo|certamente|ecco|fatto|ciao|di seguito|va bene|pronto|capito|com certeza|feito|ol[aá]|segue|abaixo|entendi
    natuurlijk|zeker|klaar|begrepen|oczywi[sś]cie|oto|gotowe|zrobione|jasn[eé]|samozřejmě|tady je|hotovo|iat[aă]|
    desigur|gata
    självklart|här (är|kommer)|klart|selvfølgelig|her (er|kommer)|ferdig|færdig|tässä|toki|valmis|tabii|elbette|
    i[sş]te|tamam|bitti
    конечно|вот|готово|хорошо|понял|сделано|привет|ось|звичайно|зроблено|βέβαια|φυσικά|ορίστε|έτοιμο|έγινε
    好的|当然|當然|没问题|沒問題|以下(是|为|為)?|这(是|里)|這(是|裡)|我已经?|我(会|将|來|来)|已完成|完成|明白|收到|
    你好|您好
    はい|もちろん|承知|了解|かしこまり|以下(は|に|の)|こちら|完了|わかりました|(네|예)(?=[\\s,.!]|$)|물론|알겠|
    다음은|여기|완료|안녕
    بالطبع|بالتأكيد|إليك|حسن(ا|اً)|تم(?=\\s)|نعم|مرحب|فيما يلي|بله|حتما|בטח|כמובן|הנה|בוצע|שלום|ज़रूर|जरूर|बेशक|
    यहाँ|हाँ|ठीक|ได้เลย|แน่นอน|นี่คือ
    tentu|berikut|baik|ini (adalah|dia)|selesai|chắc chắn|đây là|vâng|dưới đây|được rồi|xong|narito|sige
"""
# Words that a sentence holds and a command or a list of names hardly does.
_FUNCTION_WORDS = re.compile(
    r"\b(the|this|that|these|you|your|please|i|i'm|i'll|we|it|is|are|was|will|would|can|cannot|should|have|has|been|with|"
    r"for|about|because|but|und|der|die|das|ist|nicht|ich|le|la|les|est|je|vous|pas|el|los|que|es|una?|il|di|che|non|o|"
    r"não|het|een|niet|ik|nie|jest|to|я|не|что|это|и|в|на)\b",
    re.IGNORECASE,
)
# What code and data hold and plain sentences do not.
_SIGNS = re.compile(
    r"[{}\[\]<>=|$\\@^~`]|;\s*$|\w\(|\(\)|::|->|&&|"
    r"^\s*([-*+]|#{1,6}|\d{1,3}[.)]|[|>])\s|^(\t| {4})\S|(^|\s)--?[a-z]|^\s*[\w.-]+:\s*$",
    re.MULTILINE | re.IGNORECASE,
)
# Before an announcement, and in one of what is merely shown.
_CONJUNCTIONS = re.compile(r"(but|however|so|still|anyway|pero|mais|aber|doch|ma|mas|maar|ale|но|але|但是?|ですが)\s*")
_EXAMPLE = re.compile(
    r"e?[jx]empl|example|instance|e\.g\.|sample|schema|esempi|beispiel|voorbeeld|przykład|příklad|пример|приклад|örnek|"
    r"例|예시|مثال|उदाहरण"
)
_CORRECTED = re.compile(
    r"correct|fixed|revised|updated|korrig|corrig|correg|corret|popraw|oprav|исправ|виправ|修正|更正|수정|düzelt|"
    r"\b(arguments?|output|answer|json)$"
)
_COPIED = re.compile(r"`[^`\n]{0,80}`|\{[^{}\n]{0,80}\}|\[[^\[\]\n]{0,80}\]|\([^()\n]{0,80}\)")
_ODD = {"'": "‘’‚‛´`′＇ʼ", '"': "“”„‟", " ": "\u00a0\u202f", "": INVISIBLE}
_QUOTES = {ord(odd): plain for plain, odds in _ODD.items() for odd in odds}
_PART_END = re.compile(r"[:,;–—]\s+|[，、：；]")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？؟।])\s+|(?<=[。！？؟।])|\n+")


def refuses(text: str, *, is_whole: bool = True) -> bool:
    """Tell whether a text opens as a refusal; one that is not the whole answer is read less widely.

    What stands in a fence was meant as a file, so only an apology or a denial as its very first words counts there.
    """
    sentences = sentences_of(text)
    if not sentences:
        return False
    first = sentences[0]
    if not is_whole:
        return is_prose(text) and (alternatives(_DECLINES).match(first) is not None or apologizes(first))
    return apologizes(first) or _declines(sentences)


def declines(text: str, *, anywhere: bool = False) -> bool:
    """Tell whether one of the first sentences, or what stands anywhere in them, declines."""
    if anywhere:
        return alternatives(_DECLINES, begins=_WORD_START).search(plain(text[:OPENING])) is not None
    return _declines(sentences_of(text))


def apologizes(sentence: str) -> bool:
    """Tell whether a sentence in plain lower case opens as an apology."""
    return alternatives(_APOLOGIES).match(sentence) is not None


def announces(sentence: str) -> bool:
    """Tell whether a sentence in plain lower case opens as an announcement or a greeting, or says what was mended."""
    begins = alternatives(_OPENERS, ends=_WORD_END).match(sentence)
    return begins is not None or _CORRECTED.search(sentence.rstrip(" \t:：`*(")) is not None


def _declines(sentences: list[str]) -> bool:
    # "Note: I cannot …" and "Sorry – I can't": what stands before the colon or the dash is no sentence of its own.
    parts = [part for sentence in sentences for part in _PART_END.split(sentence)]
    return any(alternatives(_DECLINES).match(part) for part in parts[: 3 * SENTENCES])


def declines_the_task(text: str) -> bool:
    """Tell whether short prose that is dressed as a file, with a heading's mark or in tags, is a model's refusal.

    Such a file may well be sorry, or unable: what tells is that it is unable to do what a model is asked for. Where it
    is not sorry, too, it must end so: "I can't create an account" is the title of a page of help.
    """
    sentences = sentences_of(text)
    if len(text) > OPENING or not is_prose(text):
        return False
    declines = [
        any(" we " not in f" {found[0]} " for found in alternatives(_DECLINES, begins=_WORD_START).finditer(sentence))
        for sentence in sentences
    ]
    is_sorry = any(map(apologizes, sentences))
    is_asked = says(_TASKS, " ".join(sentences))
    return any(declines if is_sorry else declines[-1:]) and is_asked


def chats(text: str) -> bool:
    """Tell whether a text opens as an announcement, a greeting or a reply to a person."""
    sentences = sentences_of(text)
    return bool(sentences) and alternatives(_OPENERS, ends=_WORD_END).match(sentences[0]) is not None


def is_prose(text: str) -> bool:
    """Tell whether a text is words alone: one or more paragraphs of sentences, without a sign of code or data."""
    words = text.strip()[: MAX_PARAGRAPH + 9].translate(_QUOTES).strip("\"'`#/*-!<> \n\t")
    if not words or len(words) > MAX_PARAGRAPH or _SIGNS.search(words):
        return False
    # Marks count with the letters: in Indic scripts the vowels behind a consonant are marks.
    letters = sum(character.isalpha() or unicodedata.category(character)[0] == "M" for character in words)
    return letters >= len(words.replace(" ", "")) * 3 // 4


def is_mostly_words(text: str) -> bool:
    """Tell whether at least every other line is words: a refusal may name a file, and code may hold an apology."""
    # What stands in quotes or brackets was copied from the task.
    words = _COPIED.sub(" ", text[:MAX_PARAGRAPH])
    lines = [line for line in words.splitlines() if line.strip()]
    return 2 * sum(map(is_prose, lines)) >= len(lines)


def is_sentence(text: str) -> bool:
    """Tell whether prose is a sentence, and no list of names or a command without options."""
    words = text.strip()
    if not is_prose(words):
        return False
    ends = words[-1] in ".!?…。！？؟।" and not words.endswith("..") and len(words.split()) > 1
    # From U+2E80 on stand the scripts of East Asia, most of which put no spaces between words.
    is_unspaced = " " not in words and any(ord(character) > 0x2E7F for character in words) and len(words) > 3
    return ends or is_unspaced or (len(words.split()) > 2 and _FUNCTION_WORDS.search(words) is not None)


def talk_in(text: str) -> FaultKind | None:
    """Tell that a text without a fence is a refusal or small talk; None when it may be something else."""
    if refuses(text):
        return FaultKind.REFUSED
    return FaultKind.ONLY_TALK if chats(text) or is_sentence(text) else None


def sentences_of(text: str) -> list[str]:
    """Give the first sentences as they are compared: plain quotes, lower case, without marks before the first word."""
    words = _LABEL.sub("", plain(text[:OPENING]).strip("' \n\""))
    words = re.sub(r"[*_]{1,3}(?=\w)|(?<=\w)[*_]{1,3}(?=\W|$)", "", words)  # the emphasis of Markdown
    found = (_LEADING.sub("", sentence).strip() for sentence in _SENTENCE_END.split(words))
    return [sentence for sentence in found if sentence][:SENTENCES]


def plain(text: str) -> str:
    """Write a text as tables compare it: plain quotes, one form of accents, lower case."""
    return unicodedata.normalize("NFC", text.translate(_QUOTES)).casefold()


@cache
def alternatives(table: str, *, begins: str = "", ends: str = "") -> re.Pattern[str]:
    """Read a table, when it is first asked for: alternatives are parted by bars or stand on lines of their own."""
    lines = (line.strip().rstrip("|") for line in table.strip().splitlines())
    joined = re.sub(r"\|{2,}", "|", "|".join(filter(None, lines)))
    return re.compile(f"{begins}(?:{unicodedata.normalize('NFC', joined)}){ends}")


def says(table: str, sentence: str) -> bool:
    """Tell whether one of a table's alternatives stands in a sentence."""
    return alternatives(table).search(sentence) is not None


_LABEL = re.compile(r"(answer|assistant|response|reply|output|note|ai|model)\s*:\s+")
_LEADING = re.compile(r"^[^\w'¿¡]+|^[¿¡]")
_WORD_START = r"(?<![^\W_])"
# Scripts without spaces go on after an opener; where there are spaces, a word must end: "okra" is no "ok".
_WORD_END = r"(?:(?![a-zà-ÿœšžčřěůąęłńśźżğışάέήίόύώ_0-9=(\[{])(?!:\S)|$)"
_OPENING = re.compile(r"[\[{]")
_BEGUN = re.compile(
    r"""\{\s*(?:(["'“‘])[^"'“”‘’{}\n]{1,80}["'”’]|[A-Za-z_$][\w$-]{0,80})\s*:\s*(?=["'“‘\[{\d-]|[TtFfNn])"""
)
_LEAD = re.compile(r"(?:[:：]\s*|\n[ \t]*)`?\Z")
_LINE_END = re.compile(r"`?[.。]?[ \t\r]*(?:\n|\Z)")
_CLOSING = re.compile(r"[`*'\"”’»]*[ \t\r]*(?:\n|\Z|[.!;()–—。！؛।-])")

NO_ATTEMPT = frozenset({FaultKind.EMPTY, FaultKind.REFUSED, FaultKind.ONLY_THOUGHTS, FaultKind.ONLY_TALK})
METADATA = "no_attempt"  # the member of a ToolResult's metadata that names the reason
# What is said of each; `{}` is what was due: "the file", "the arguments".
SAID = {
    FaultKind.EMPTY: "the answer is empty",
    FaultKind.REFUSED: "the answer declines and gives nothing",
    FaultKind.ONLY_THOUGHTS: "the answer ends with its thoughts and gives nothing after them",
    FaultKind.ONLY_TALK: "the answer talks and gives nothing",
}


def no_attempt(answer: str, *, has_tags: bool = False, kind: Kind = Kind.SOURCE_FILE) -> FaultKind | None:
    """Tell why a whole answer is no attempt; None when something in it may be one.

    Where data are due, so for every kind but files, a JSON value that the words hand over is one.
    """
    if not answer.strip(f"{INVISIBLE} \t\r\n"):
        return FaultKind.EMPTY
    rest = without_thoughts(answer, has_tags=has_tags).lstrip("\ufeff")
    if not rest.strip():
        return FaultKind.ONLY_THOUGHTS
    if "```" in rest or "~~~" in rest or rest.lstrip()[:1] in ("{", "["):
        return None
    words, places = (rest, []) if kind is Kind.SOURCE_FILE else _words_around_values(rest, kind)
    reason = talk_in(words) if is_mostly_words(words) else None
    # A value with slips, or one that was cut off, is an attempt, too: its slips are told. A refusal stays one.
    if reason is FaultKind.ONLY_TALK and kind is not Kind.SOURCE_FILE and _BEGUN.search(rest):
        return None
    return None if reason and any(_is_given(words, place, reason) for place in places) else reason


def _words_around_values(text: str, kind: Kind) -> tuple[str, list[int]]:
    """Put `{}` for each JSON value that could be the output or its schema; gives the places of the outputs, too."""
    words, begin, position, places = "", 0, 0, list[int]()
    for _ in range(MAX_BRACKETS):
        opening = _OPENING.search(text, position)
        if opening is None:
            break
        start = opening.start()
        try:
            value, position = ENDS.raw_decode(text, start)
        except RecursionError:
            break
        except json.JSONDecodeError as error:
            if error.pos >= len(text):
                break  # all the rest is within a value that does not end
            position = start + 1
            continue
        # "[1]" is a footnote, unless it stands where a value would.
        is_apart = _LEAD.search(text[max(0, start - MAX_LEAD) : start]) and _LINE_END.match(text, position)
        is_list = isinstance(value, list) and not any(isinstance(item, dict) for item in value)
        if is_list and (kind is Kind.TOOL_CALL or not is_apart):
            continue
        words += text[begin:start]
        # A schema was copied from the task.
        is_object = isinstance(value, dict) and value.get("type") == "object"
        is_schema = is_object and isinstance(value.get("properties"), dict)
        if not (is_schema or (isinstance(value, dict) and "$schema" in value)):
            places.append(len(words))
        words, begin = f"{words}{{}}", position
    return words + text[begin:], places


def _is_given(words: str, place: int, reason: FaultKind) -> bool:
    """Tell whether the value at a place is handed over: a refusal may quote one.

    All that talk holds is. After an apology a value is that ends its sentence or line; after "I cannot" it must be
    announced, too, and not as an example.
    """
    if reason is not FaultKind.REFUSED:
        return True
    if not _CLOSING.match(words, place + len("{}")):
        return False
    if not _declines(sentences_of(words)):
        return True
    before = plain(words[max(0, place - OPENING) : place]).rstrip(" \t\r\n:：`*")
    lead = _PART_END.split(_SENTENCE_END.split(before)[-1])[-1]
    lead = _CONJUNCTIONS.sub("", lead.strip(), count=1)
    return announces(lead) and not alternatives(_DECLINES).match(lead) and not _EXAMPLE.search(lead)


def reason_of(errors: Iterable[Mapping[str, Any]]) -> str | None:
    """Find, in errors as they are stored, why an attempt is none; None for an attempt with mistakes."""
    return next(
        (each["keyword"] for each in errors if each.get("keyword") in NO_ATTEMPT and not each["field_path"]), None
    )
