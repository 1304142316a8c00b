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
    says,
)
from retrycontract.contract.outputs.withholding import is_disowned, is_shown, is_wrong, without_files

QUESTIONS: Final = re.compile(r"[?？؟]$|[\u0370-\u03ff].*;$|(吗|嗎|か|까요?|ไหม|หรือไม่)[。.]?$", re.DOTALL)
ENDS_OF_LEAD: Final = " \t:：=`\"'*("
MAX_BARE_WORDS: Final = 2  # of a label or an exclamation
MAX_BARE_SIGNS: Final = 5  # where words are not parted by spaces
NEAR: Final = 300  # characters before and after a value in which its sentence is sought
# Of those before it in which it may be forbidden: no sentence is as long, and to look for all words in all languages
# in text that has no sentences takes a second of every 2 MB.
LONGEST_SENTENCE: Final = 3_000

# How one is told not to do something, and what: the two follow each other.
_FORBIDS = """
    (do not|don't|never|must not|mustn't|should not|shouldn't|cannot|can't|not allowed to|avoid|refrain from)
    nicht|nie|niemals|kein(e|en|er|em|es)?( mehr| so| diese\\w*)?
    (inte|ikke|ej\\b|aldrig|niet|nooit|no|nunca|jam[aá]s|n[aã]o|non|nu|ne|nie|не|нельзя)( meer| lo| la| o| a)?
    n'|ne( le| la| les)?
"""
_DOING = """
    sen[dt]|us(e|ed|ing)\\b|submit|call|run|execut|return|output|answer|reply|give|write|make|cop[iy]|save|deploy|apply
    includ|tak(e|ing)|trust|rely
    \\w*send|schick|\\w*verwend|benutz|nutz|ausf[uü]hr|[uü]bernehm|kopier|schreib|speicher|aufruf
    envo|utilis|ex[eé]cut|emplo|lanc|appel|soumet|enregistr|env[ií]|us[aeo]\\b|us[ae]r|ejecut|utili[cz]|llam|guard|mand
    cham|salv|invi|esegu|chiam|verst|gebrui|verzend|uitvoer|wysyłaj|używaj|uruchamiaj|wykonuj|kopiuj|stosuj|použív|pos[ií]l
    spoušt|odes[ií]l|trimite|folosi|rula|küld|használ|futtas|skick|använd|kör|brug|bruk|kjør
    отправля|использ|запуска|посыла|выполня|копиру|применя|надсила|використ|изпращ|изпълн|шаљ|покре|корист
    šalj|pošilj|zažen|uporab|izvaj|korist|pokre|envi[eïé]|executi
"""
# Where the verb comes first, or the language has its own word or ending for it.
_FORBIDS_OTHERWISE = """
    \\b(sende|schicke|verwende|benutze|nutze|übernimm|führe)\\b.{0,20}\\bnicht\\b
    \\b(gebruik|verstuur|stuur) .{0,20}niet
    \\b(skicka|använd|kör|send|brug|bruk|kjør) (det |den )?(inte|ikke|ej)\\b|\\bäl(ä|kää) \\w+|\\bμ(ην|η) \\w+
    (gönder|kullan|çalıştır)m[ae](yin|yın)?\\b|\\bjangan \\w+|\\bhuwag|\\b(đừng|không được) \\w+
    不要|请勿|請勿|切勿|勿|别|別|不得|不可|不能|ないで|しないこと|禁止|하지 ?마|지 마|마세요|마십시오|금지
    \\bnemoj|\\bнемој|\\b(ära|ärge) \\w+|\\bne(sūt|palaid|izmanto|izpild|lieto|siųsk|siunt|naudok|paleis|vykdyk)
    \\bne(pos[ií][el]|spou[sš]|sp[uú][sšť]|použ[ií]v|vykon[aá]v|prov[aá]děj)|\\b(usi|msi)(tum|end|fany|weke|jibu)
    ن(فرست|کن\\b|کنید\\b|دهید\\b)|না (পাঠা|চালা)|(পাঠা|চালা|ব্যবহার কর)\\S* না|வேண்டாம்|(அனுப்ப|இயக்க|பயன்படுத்த)ா(தே|தீர்)
    (مت|نہ) (بھیج|چلا|استعمال)|न (चला|कर)|لا (ترسل|تستخدم|تنفذ|تشغل)|(אל|לא) ת\\w+|मत |न भेज|ห้าม|อย่า
"""
# What else takes a value back: it is wrong, of the past, of somebody else, only a draft, or waits for something.
_TAKES_BACK = """
    \\bexample|illustrat|obsolete|outdated|deprecated|\\bdraft|placeholder
    template|dummy|rejected|refused|failed|failing|cancel\\w*|discard\\w*|ignore|forbidden|prohibited|harmful|dangerous
    unsafe|against|instead of|rather than
    \\b(earlier|previously|before|yesterday|last time|old|unsure|tbd|fixme|preliminary)\\b|for instance|e\\.g\\.
    \\bsample|\\bguess|hypoth[eé]|simulat|pretend|\\bimagine\\b|\\bsuppos|\\bmock|\\bfake|dry.run|made.up
    made .{0,20} up\\b|invented|did you mean
    \\b(if|unless|until|once|after|when|whether) (you|i|we|the|they|approved|confirmed)\\b|\\bwait|\\bhold off|^in case
    \\b(would|could|might|maybe|perhaps|possibly|possible (answer|response|call|reply))\\b
    i'd (send|use|call|run|do|answer|say|suggest|write|return)|\\b(approv|confirm|permission|consent)|^(pending|todo)\\b
    pending your|await|sign-?off|theor|\\bdemo|^as a test|superseded|nobody|your ok\\b
    please (check|review|have a look|fill)|attacker(?!'s)|malicious|adversar|inject|jailbreak|phish|told me to
    \\b(the (documentation|docs|manual|readme)( \\w+)?$|quoted|copied|forwarded|^(from the )?(\\w+ )?log$)
    \\b(original (request|message|input|call)|wrote|said|typed|pasted|entered)( this| that| it| the following)?$
    \\b(quoted|contain(s|ed)|returned|shows?|says|reads)( this| that| it| the following)?$
    \\b(schema|format|template) (is|looks)\\b|\\b(something|looks?) like\\b|\\blike (this|so)$|^tests?\\b
    ^(no|nope|nah|non|nein|nee|nej|nei|nem|hayır|нет|ні|όχι|いいえ|아니(요|오)?)。?$|[❌✖✗✘❎⛔🚫🛑👎🙅🚧]
    ^(json.?)?schema$|^(the )?(expected|desired) (\\w+ ?){1,3}$|^\\w*ausgabeformat|^format de\\b|^formato d[ei]\\b
    ^формат\\b|^(the |your )?(required )?((output|response|answer|input|reply) )+(format|structure|syntax)$
    ^.{0,6}(格式|形式|형식)$
    ^((and|but|so) )?(this|that|it|which|the (above|following|next|call|answer|json)) (is|was) (\\w+ )?an? (\\w+ )?test$
    \\b(is|was) (\\w+ )?the (\\w+ ){0,2}(format|schema|template)$|\\btest (data|call|payload)
    ^(please )?(replace|substitute|fill in)\\b|with (the|your) (real|own|actual)
"""
# The same in other languages, where a sentence before or after a value that has one of these seldom means another.
_TAKES_BACK_ABROAD = """
    veraltet|abgelehnt|statt\\b|anstatt|anstelle|\\b(ist|war|wäre) ein fehler
    wenn sie|\\bfalls|vielleicht|ungefähr|\\bwäre|\\bwürde|\\bkönnte|zur probe|erst prüfen|
    nicht (richtig|korrekt)|refus|au lieu|plut[oô]t que|si vous
    pas (correct|juste|bon\\b)|(c'est|c'était|serait) une erreur|\\b(serait|pourrait)|peut-être|ip[oó]t[eé]|ipotet
    rechazad|en lugar|en vez|\\bsi (usted|quiere|est[aá]s? de)|está mal|es un error
    ser[ií]a\\b|podr[ií]a|tal vez|quiz[aá]|rejeitad|em vez|poderia|talvez
    \\bn(o|[aã]o) (é|está|es) (cert|corret|correct)|non (valid|è corrett|è giust)|rifiutat
    invece|al posto|è un errore|sarebbe|potrebb|forse|afgewezen|in plaats|klopt niet
    niet juist|\\bzou(den)?\\b|misschien|odrzucon|zamiast|byłoby|mógłb|może być
    místo|možná|skulle|kanske|kanskje|måske|
    ehkä|talán|poate\\b|belki|
    mungkin|jika|nếu|отклон|вместо|если
    это (была )?ошибка|\\bбы\\b|возможно|гипотет|симул|замість|якщо|
    ίσωσ|υποθετ|拒绝|拒絕|而不是|如果|假设|假如|模拟|違う|却下
    代わりに|仮に|거부|대신|가정|vorschlag
    propuesta|propost|proposition|voorstel|propozycj|förslag|forslag|предложени|freigabe|genehmig|bestätig|zustimm
    erlaubnis|einverst|votre accord|approbation|autorisation|confirm(ez|er|ation)|approuv|permiso\\b|permesso|permissão
    permisiun|confirm(a|e|ar|aci[oó]n|ação|e|ați|ă)\\b|aprob|aprov|conferm|approva[zt]|toestemming|bevestig|akkoord
    goedkeur|zgod[ay]\\b|zgodą|potwierd|zatwierd|potvr[dz]|potvrď|souhlas|schvál|godkänn|bekräft|godkend|bekræft|godkjen
    bekreft|vahvist|hyväksy|erősít|jóváhagy|\\bonay|konfirmasi|[sy]etuju|xác nhận|phê duyệt|đồng ý|подтвер|одобр|соглас
    разреш|підтверд|схвал|потвърд|επιβεβ|έγκρισ|确认|確認|批准|同意|许可|承認|승인|확인|허락|تأكيد|موافق|אישור|לאשר
    पुष्टि|अनुमति|ยืนยัน|อนุมัติ
"""
# What speaks of an earlier answer, before which the value stands.
_OF_ANOTHER = """
    \\b(previous|earlier|before|last (attempt|reply|answer|call|version))|vorher|vorig|précéden|anterior|preceden
    poprzedn
    předchoz|förra|tidigare|forrige|edelli|előző|önceki|sebelumnya|trước|предыдущ|прежн|попередн|προηγ|之前|上一|上次
    以前|前の|前回|이전|السابق|הקודם|पिछल|ก่อนหน้า|vorherig|früher
"""
# How a sentence opens that takes back what was just given, or does not give it yet.
_WITHDRAWS = """
    (no|nope|wait|stop|hold on|hang on|h+m+|oops)[,.!:;—–-]
    (whoops|correction|cancel|undo|abort|actually|sorry|apologies)[,.!:;—–-]
    (no|nope|wait|stop|hold on|hang on|h+m+|oops|whoops|correction|cancel|undo|abort|actually)$
    (no|wait|hold on|cancel|undo|actually|oops)\\s(no|wait|that|this|it|don't|hold)\\b
    (say|type|reply|answer|respond|write)\\b.{0,12}\\b(yes|ok|okay|go|y|confirm)\\b|awaiting\\b|pending\\b
    not (yet )?(sent|to be|for)\\b|(please )?(use|replace|adjust|change|fill|edit|substitute|treat)\\b
    (please )?(hold|wait|check|verify|confirm|approve|choose|pick|withdraw)\\b|(you|we) (need|have|must|should)\\b
    let me (correct|try|fix|redo|rephrase|revise|think|check)|my (mistake|bad)\\b
    (i|we) (should(n't| not)|must(n't| not))
    (nein|non|no|n[aã]o|nee|nie|ne|nej|nei|ei|nem|nu|hayır|tidak|không|нет|ні|όχι|لا|לא|नहीं)\\s?[,،.!]
    [❌✖✗✘❎⛔🚫🛑👎🙅🚧]
    [–—-]*\\s*((this is|just|only|an?|first|rough|early|nur|ein|erster) )*(draft|sketch|wip|tentative|provisional
    work in progress|entwurf|brouillon|borrador|rascunho|bozza|concept|szkic|návrh|utkast|udkast|taslak
    черновик|test|example)(,| v?\\d| only| version|$)
    (moment|halt|stopp?|dur|vent|stai|warte|wacht|стоп|停|等等)([,.!，。！]|$)
"""
# The same wherever it stands in a sentence.
_TAKES_THAT_BACK = """
    \\b(scratch|strike) (that|this|it)|never ?mind|disregard|changed my mind|on second thought|just kidding
    take (it|that|this) back
    \\b(ignore|forget|cancel|undo|discard|withdraw|retract|revert)( about)? (this|that|it|my|everything|please)\\b
    \\b(ignore|forget|cancel|undo|discard|withdraw|retract|revert) the (above|last|value|answer|response|json|call)\\b
    \\bma[dk]e .{0,20} up\\b
    \\b(made[- ]up|invented|fictional|placeholders?|guess(ed)?|unsure|uncertain|hypothetical)\\b
    \\bnot (quite |entirely |really |fully )?(sure|certain)\\b|\\bjust a\\b
    \\b(only|merely) an? (example|draft|test|demo|mock|simulation)|(n't|\\bnot) (\\w+ ){0,3}yet\\b
    \\b(please|kindly) (\\w+ )?(confirm|approve|review|check|verify|advise|clarify)\\b
    \\b(please|kindly) (\\w+ )?(provide|specify|tell|answer|reply|choose|select)\\b
    \\b(please|kindly) (\\w+ )?(decide|indicate|wait)\\b|\\bi need to know|\\b(this|it) needs\\b|\\bask (you )?first
    \\b(await\\w*|wait(ing)? (for|on|until)|pending|until) .{0,40}(confirm|approv|permission|consent)
    \\b(once|subject to|before i|needs?|if) .{0,40}(confirm|approv|permission|consent)
    \\b(await\\w*|wait(ing)? (for|on|until)|pending|until) .{0,40}(go-?ahead|sign-?off|repl[yi]|respon)
    \\b(once|subject to|before i|needs?|if) .{0,40}(go-?ahead|sign-?off|repl[yi]|respon)
    \\b(await\\w*|wait(ing)? (for|on|until)|pending|until|once|subject to|before i|if) .{0,40}(\\bok|agree|review|check)
    (^|\\W)\\(?y/n
    \\b(typo|void|retracted|rescind|tbc|to be confirmed|double.?check|\\d+ ?% sure|have doubts|wrong one)\\b|\\binstead$
    should be \\d|as soon as|as a draft|do nothing|(made|contains|is|was) an? (mistake|error|typo)
    (error|mistake) in the above|got (this|it|that) wrong
    \\byour (confirm|approv|permission|consent|go-?ahead|ok\\b|sign-?off)|vertan|geirrt|tromp[eé]|equivoq|sbagliat
    engan[eo]i|vergist|pomyli|splet|hade fel|téved|väärässä|\\ben ole\\b|greșit|yanıl|nhầm|keliru|сгреши
    κάνει λάθος|弄错|실수|أخطأ|טעיתי|\\bsollte\\b|vergiss|vergessen sie|ignorier|abbrech|stornier|doch nicht
    \\bwarte\\b|bescheid, ob|nur ein (beispiel|entwurf|test)|\\boublie|\\bignore[rz]\\b|\\bannule|\\battende[zr]
    j'attends|laisse[zr]? tomber|n'est qu'un|dites-moi (si|quel)|\\bolv[ií]d|\\bignor[ae] (eso|esto|lo|isso|isto|quanto)
    \\bcancel(a|e|en|ar)\\b|\\banul|\\besper[ae]\\b|espero (tu|su|la)\\b|dime si|\\bs[oó]lo un|dimentic|annull|aspett
    \\battend(o|iamo)\\b|lascia(mo)? (perdere|stare)|\\besque[cç]|aguard|só um|apenas um|vergeet|negeer|annuleer
    \\bwacht|laat maar|slechts een|zapomn|zignoruj|anuluj|czeka[jm]|nieważne|\\btylko|zapome|zabud|zruš|počk|čekám
    \\bglöm|\\bglem\\b|ignorera|avbryt|afbryd|\\bväntar?\\b|jeg venter|bara ett|bare et|unohda|peruuta|odota|felejts
    mellőz|töröl|mégse|várj|várok|\\buit[aă]\\b|aștept|doar un|\\bunut|yok say|ptal e[dt]|\\bbekl[ei]|sadece|göz ardı
    lupakan|abaikan|\\bbatal|\\btunggu|menunggu|hanya|quên|bỏ qua|h[uủ][yỷ]|khoan|chờ|đợi|chỉ là|забуд|игнорир|отмен
    подожд|\\bжду|ожида|не так\\b|только пример|ігнор|скасу|чека|ξέχ|αγνό|ακύρ|περίμ|περιμ|забрав|忘了|忘掉|忽略|无视
    無視|取消|等等|等一下|稍等|等待|等您|等你|算了|作废|撤回|只是|忘れて|取り消|キャンセル|待っ|待ち|잊어|무시|취소|잠깐
    잠시만|기다리|철회|انس|تجاهل|ألغ|إلغاء|انتظر|انتظار|תשכח|התעלם|בטל|רגע|חכה|ממתין|lieber nicht|anders überlegt
    näherem überlegen|me ravise|réflexion faite|mieux vaut pas|mejor no\\b|pensándolo bien
    cambi(é|ado) de (idea|opinión)|ripensandoci|cambiato idea|meglio di no|pensando bem|melhor não|mudei de ideia
    nader inzien|toch (maar )?niet|me bedacht|jednak nie|rozmyśl|po namyśle|přece jen ne|rozmysl|ångra(r|t) mig
    eftertanke|fortryd|ombestem|muutin miel|meggondol|răzgând|vazgeç|fikrimi değiş|berubah pikiran|tidak jadi|đổi ý
    thôi đừng|передума|лучше не\\b|раздума|μετάνιωσ|άλλαξα γνώμη|改变主意|改變主意|还是不|還是不|다시 생각해|안 할게
    안 하겠|(やっぱり|やはり).{0,9}(やめ|止め|違|なし|不要)
    ^(送信?(は|を|るのは|るのを))?(やめ|止め)(ます|まし|た|よう|て)|غيرت رأيي|تراجعت|שיניתי את דעתי|התחרטתי|इरादा बदल
    เปลี่ยนใจ|भूल जा|अनदेखा|रद्द|रुक|प्रतीक्षा|ลืม|เพิกเฉย|ยกเลิก|เดี๋ยว|โปรดรอ
"""
# How one offers further help.
_OFFERS = """
    \\belse\\b|anything more|further|(other|any|more) questions?|more help|sonst|noch (etwas|was)|weitere|weiterhelf
    \\bautre
    algo m[aá]i?s|otra cosa|más preguntas|\\baltro|outra coisa|alguma coisa|mais (alg|perg)|nog iets|iets anders
    jeszcze|coś innego|ještě
    dalšího|något (annat|mer)|noe annet|andet|muuta|másban|egyéb|altceva|başka|\\blain|gì (nữa|khác)|чем-нибудь|щось
    άλλο|其他|其它|还有|還有|別的|别的|他に|他の|ほか|더\\s|다른|آخر|אחר|עוד|और|อื่น|เพิ่มเติม
"""
# Whoever negates near a value speaks of something that is not so. In words that announce a file that is common.
_NEGATES = """
    \\b(not|never|nothing|no longer|nor|nicht|kein\\w*|nie|niemals|pas|jamais|aucun\\w*|no|nunca|jam[aá]s|n[aã]o|
    non|mai|niet|geen|nooit|nie|nigdy|ne|není|nu|nem|inte|ikke|ej|aldrig|ei|eivät|değil|yok|tidak|bukan|không|hindi|не|нет|нельзя|никогда|
    ні|δεν|μην|όχι|لا|لم|لن|ليس|לא|אין|nikdy|nikoli|nemoj\\w*|немој\\w*|mitte|pole|ära|ärge|nav|nėra|hindi|huwag|sio)\\b
    n't\\b|[不没沒未无無]|ない|ません|않|아니|(?<!잘)못|ไม่|नहीं|मत |(^|\\s)न |(^|\\s)না(\\s|$)|নয়|নেই|வேண்டாம்|இல்லை|ாதே|نہیں
    مت |نہ |نیست|نمی
"""
# What is due, where nothing is said but its name: "Answer:".
_NAMES = """
    answer|response|reply|output|result|value|json|object|arguments?|parameters?|params|action|call|request|payload|
    final|data|here|
    antwort|ergebnis|ausgabe|réponse|résultat|sortie|respuesta|resultado|salida|risposta|risultato|resposta|saída|
    antwoord|resultaat|
    odpowiedź|wynik|odpověď|výsledek|válasz|răspuns|svar|vastaus|yanıt|cevap|sonuç|jawaban|hasil|trả lời|kết quả|
    ответ|отговор|результат|відповідь|απάντηση|答案|回答|回复|回覆|响应|結果|结果|応答|답변|응답|결과|الإجابة|النتيجة|
    תשובה|उत्तर|คำตอบ
"""
_NAME_ENDS = re.compile(
    r"(?:" + re.sub(r"\s*\n\s*", "|", _NAMES.strip()).replace("||", "|") + r")"
    r"(?:\s+(?:is|are|ist|est|es|is|è|é|follows|below|to send|будет))?$"
)
_ASKS_FIRST = re.compile(
    r"\b(send|run|execut|proceed|call|submit|use|apply|go ahead|confirm|approv|okay|ok|correct|right|want|shall|should)"
)
_CALLS_WRONG = re.compile(
    r"(the|these|those|all|some) .{0,40}\b(is|are|was|were|be|looks?|seems?) (\w+ )?"
    r"(wrong|incorrect|invalid|fake|not (right|correct))\b"
)
_ENGLISH = re.compile(r"\b(the|is|are|was|were|this|that|it|does|did|i|you|to|of|not|needed)\b")
_TELL_ME = re.compile(r"\b(let me know|tell me)\b")
_SUPPOSES = re.compile(r"(suppos|assum|imagin|pretend|if\b|hypothetical|in case)")
_ASKED = re.compile(r"(you|the user|your question|question|q)\b")
_JUDGES = re.compile(
    r"(but|however|although|though|and (it|this)|this|that|it|which|the (above|call|answer|value|json|request))\b"
)
# "It creates an example" says what the value does, not what it is.
_ACTS = re.compile(
    r"(?:and )?(?:this|that|it|which|the call) (?:also |then |now |simply )?(?:creat|send|book|answer|block|read|writ|"
    r"delet|restart|open|start|stop|updat|run|add|remov|mov|copi|sav|fix|correct|repair|clos|list|fetch|check|stor|mail|post)(?:e?s)\b"
)
# How else one says of a few words that they hand something over, or are a pleasantry behind it.
_AS_ASKED = re.compile(
    r"now\b|nun|jetzt|maintenant|ahora|agora|request|asked|tool|input|step|decision|\w+ing\b|gewünscht|demandé|pedi(do|ste)|"
    r"richiesto|solicitado|gevraagd|prośb|bad om|stedi|permintaan|yêu cầu|просили|korr|corr|popraw|oprav|исправ|"
    r"操作|要求|要望|修|動作|アクション|요청|수정|طلب|ביקש|अनुरोध|ขอ"
)
_PLEASANT = re.compile(
    r"regard|luck|cheer|enjoy|done|help|thank|ready|good|success?\b|erfolg|glück|dank|gern|hilf|merci|voyage|chance|gracias|"
    r"suerte|viaje|grazi|fortuna|obrigad|sorte|bedankt|powodz|dzięk|děk|štěst|tack|lycka|tak\b|takk|held|kiit|onnea|köszön|"
    r"mulțum|succes|teşekkür|günler|terima|semoga|cảm ơn|спасибо|удач|дяку|ευχαρ|谢|謝|希望|帮|幫|ありがと|どうぞ|役|"
    r"감사|행운|도움|شكر|תודה|धन्यवाद|ขอบคุณ|assistant"
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
_WAS = re.compile(
    r"(\b(was|were|read|said|war|waren|lautete|était|fue|era|foi|by[lł][aoi]?|var|oli|volt|idi|adalah|là|был[аои]?|ήταν)|"
    r"[是为]|でした|だった|이었다|كان|היה|थ[ाी])$"
)
_FENCE_TAG = re.compile(r"(?:`{3,}|~{3,})([^\n`]*)\n\s*\Z")
_FOOTNOTE = re.compile(r"\w \[\d{1,3}\],? +\w")
_OPENING = re.compile(r"[\[{]")


def refuses_around(answer: str, kind: Kind) -> bool:
    """Tell whether the words around a value, in a fence or not, decline or forbid and do not hand it over."""
    words = _FENCE_MARK.sub("", answer)
    value = _OPENING.search(words)
    if value is not None and _forbids(_last_sentence(words[max(value.start() - LONGEST_SENTENCE, 0) : value.start()])):
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
    opened = _FENCE_TAG.search(before)
    if opened is not None and _is_withheld_before(plain(opened[1]).strip()):
        return False
    # Whoever asks asks at the end.
    nearby = before[-NEAR:], f"{after[:NEAR]}\n{after[NEAR:][-NEAR:]}"
    before, after = (_FENCE_MARK.sub("\n", part) for part in nearby)
    if not _ENDS.match(after) and not announces(plain(after)):
        return False
    line = before.rpartition("\n")[2]
    lead = _last_sentence(before)
    if _is_withheld_before(lead):
        return False
    # Whether it is to be sent may be asked before it is announced; what was asked of the model is told there, too.
    earlier = [each for each in _sentences(before)[:-1] if not _ASKED.match(each)]
    asks = any(QUESTIONS.search(each) and _ASKS_FIRST.search(each) for each in earlier)
    if asks or any(map(_SUPPOSES.match, earlier)) or any(map(_is_withheld_after, _sentences(after))):
        return False
    if _MARKS.fullmatch(line):
        return True
    bare = _ASIDE.sub("", lead.rstrip(ENDS_OF_LEAD)).rstrip()
    return apologizes(lead) or _announces(lead) or _NAME_ENDS.search(bare) is not None


def shows_only(before: str, after: str) -> bool:
    """Tell whether words show the file between them without handing it over: they forbid it, or decline the task."""
    lead, rest = _last_sentence(before), (_sentences(after) or [""])[0]
    if _forbids(lead) or (_forbids(rest) and _ALL_OF_IT.search(rest)):
        return True
    turns = _TURNS.search(lead)
    return declines(before) and not _announces(lead) and (turns is None or declines(turns["to"]))


def _announces(sentence: str) -> bool:
    return announces(sentence) or any(announces(part.strip()) for part in _PART.split(sentence))


def _is_withheld_before(lead: str) -> bool:
    """Tell whether the last sentence before a value forbids it, takes it back, asks, or is a label of another thing."""
    is_known = _announces(lead) or says(_NAMES, lead) or _AS_ASKED.search(lead) is not None
    if lead.endswith((":", "：")) and _is_bare(lead) and not is_known:
        return True
    # "The previous output was" shows it; "back to the previous page" does not.
    if says(_OF_ANOTHER, lead) and _WAS.search(lead.rstrip(ENDS_OF_LEAD)):
        return True
    words = without_files(lead).rstrip(ENDS_OF_LEAD)
    return (
        QUESTIONS.search(lead) is not None
        or _forbids(lead)
        or any(says(table, words) for table in (_TAKES_BACK, _TAKES_BACK_ABROAD, _NEGATES))
        or is_wrong(words, here=True)
        or is_shown(words)
    )


def _is_withheld_after(sentence: str) -> bool:
    """Tell whether a sentence after a value takes it back, or asks something before it is used."""
    is_bare = _is_bare(sentence) and not _PLEASANT.search(sentence)
    sentence = without_files(sentence)
    offers = says(_OFFERS, sentence) and not _ASKS_FIRST.search(sentence)
    if QUESTIONS.search(sentence) or _TELL_ME.search(sentence):
        return not offers
    if _forbids(sentence) or declines(sentence) or alternatives(_WITHDRAWS).match(sentence):
        return True
    if says(_TAKES_THAT_BACK, sentence) or is_disowned(sentence):
        return True
    if offers or says(_OF_ANOTHER, sentence):
        return False
    if is_bare or (not _ENGLISH.search(sentence) and says(_NEGATES, sentence)):
        return True
    is_judged = says(_NEGATES, sentence) or is_wrong(sentence, here=True)
    is_judged = is_judged or (says(_TAKES_BACK, sentence) and not _ACTS.match(sentence))
    return (
        (is_judged and _JUDGES.match(sentence) is not None)
        or _CALLS_WRONG.match(sentence) is not None
        or says(_TAKES_BACK_ABROAD, sentence)
        or is_wrong(sentence)
    )


def _is_bare(sentence: str) -> bool:
    """Tell a label or an exclamation: too few words to say in, whatever the language, what becomes of the value."""
    is_unspaced = any(ord(character) > 0x2E7F or 0xE00 <= ord(character) < 0xF00 for character in sentence)
    words = sentence.rstrip(ENDS_OF_LEAD)
    return 0 < len(words) <= MAX_BARE_SIGNS if is_unspaced else 0 < len(words.split()) <= MAX_BARE_WORDS


def _forbids(sentence: str) -> bool:
    return says(_FORBIDS_OTHERWISE, sentence) or any(
        alternatives(_DOING).match(_BETWEEN.sub("", sentence[forbidden.end() :], count=1))
        for forbidden in alternatives(_FORBIDS, begins=r"\b").finditer(sentence)
    )


def _last_sentence(text: str) -> str:
    return (_sentences(text) or [""])[-1]


def _sentences(text: str) -> list[str]:
    parts = (part.strip("`\"'*()_. \t\r\n") for part in _SENTENCE.split(plain(text)))
    return [part for part in parts if part]
