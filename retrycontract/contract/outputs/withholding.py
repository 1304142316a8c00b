"""Tell what words say of a value that they show and do not give: it is an example, wrong, or somebody else's."""

from __future__ import annotations

import re
from typing import Final

from retrycontract.contract.outputs.no_attempt import alternatives, says

MOST_WORDS: Final = 7  # of a remark that is about the value and nothing else
MOST_SIGNS: Final = 26  # the same in scripts that have no spaces

# Examples: a value behind them is shown.
_EXAMPLES = """
    \\bexample|\\bsample|e[jx][eé]mp[el]|exemp|eksemp|esemp|esimer|beispiel|voorbeeld|przykład|[rř][ií]klad|primjer
    primer\\b|пример|приклад|illustr|ilustr|иллюстр|ілюстр|veranschaulich|havainnoll|szemléltet|örne[kğ]|ví dụ
    contoh|misalnya|halimbawa|\\bmfano|példa|példá|piemēr|pavyzd|näide|näite|näidis|παράδειγμ|υπόδειγμ|比如|例えば
    たとえば|例如|示例|举例|(?<![比案条條惯慣凡先前事])例(?![外年会會假行え])|范例|範例|サンプル|見本|样例|예시|예제
    예를|(?<![가-힣])예(입니다|이다|일 뿐|:|$)|샘플|مثال|مثلا|نمونه|לדוגמ|דוגמ[אה]|למשל|उदाहरण|উদাহরণ|\\bminh họa
    הדגמ|演示|供参考|僅供參考|参考(まで|です|用)|参考に(?!し)|참고용|للتوضيح|உதாரண|எடுத்துக்காட்ட|ตัวอย่าง
"""
_DRAFTS = """
    entwurf|brouillon|borrador|rascunho|esborrany|bozza|concept\\b|szkic|návrh|nacrt|нацрт|osnutek|utkast|udkast
    taslak|taslağ|черновик|чернетк|чернов|mustand|melnrakst|juodrašt|luonnos|vázlat|ciorn|πρόχειρ|προσχέδι|bản nháp
    \\bdraf\\b|rasimu|مسودة|پیش.?نویس|טיוט|मसौदा|খসড়া|வரைவு|مسودہ|草稿|下書き|초안|ฉบับร่าง
"""
_WRONG_HERE = "wrong|incorrect|invalid|\\bbad\\b(?! om)|mistaken|broken|buggy"
_WRONG = """
    falsch|fehlerhaft|ungültig|stimmt nicht|\\bfaux|fausse|incorrect|invalide|erron[eé]|equivocad|inv[aá]lid|errad
    està malament|està mal\\b|sbagliat|\\berrat|\\bfout\\b|ongeldig|błędn|błąd|nieprawidłow|\\bźle\\b|špatn|chybn
    nesprávn|\\bzl[eéáý]\\b|pogre[sš]|\\bkrivo\\b|narobe|napačn|napak|\\bfel\\b|felaktig|\\bfeil\\b|forkert|väärin
    väärä|virhe|\\bvale\\b|\\bviga\\b|hibás|\\brossz|greșit|yanlış|hatalı|\\bsalah\\b|\\bsai\\b|nepareiz|kļūd
    neteising|klaid|неправильн|неверн|ошибочн|ошиб|недейств|помил|хибн|грешно|грешн[аи]|погре[шс]н|λάθοσ|λάθος
    mali\\b|(si|sio) sahihi|错|錯|无效|無效|不对|不對|間違|違[いう]|誤り|無効|잘못|틀린|틀렸|خطأ|خاطئ|خطا|اشتباه
    نادرست|غلط|שגוי|טעות|गलत|ग़लत|ভুল|தவற|ผิด
"""
# Who mends a mistake names it, and so does who says that one has to be mended.
_MENDED = """
    \\b(fixed|fixes|corrected|corrects|repaired|repairs|mended|resolved|solved|replaced)|korrig|behob|behebt
    berichtig|corrig|correg|corrett|corregg|corret|corrij|herstel|gecorrig|verbeter|popraw|naprawi|oprav|isprav
    испра|виправ|поправ|odprav|corect|javít|rätta|retter?\\b|rettet|korjas|korjaa|paranda|izlabo|ištais|pataisy
    διόρθω|διορθώ|düzelt|صحح|يصحح|اصلاح|תיקנ|תוק[נן]|सुधार|ঠিক কর|সংশোধ|திருத்|修|更正|纠正|改正|訂正|수정|고쳤|고친
    sửa|memperbaiki|perbaik|แก้ไข|itinama|naitama|sahihish
"""
_OUGHT = """
    \\b(must|needs?|should|has to|have to|muss|müss|sollte|doit|devrait|debe|deve|moet|zou|musí|musi|trzeba
    treba|треба|нужно|надо|должн|pitää|kell|måste|bör|skal|må|πρέπει|gerek|harus|perlu|phải)\\b
    يجب|باید|צריך|चाहिए|需要|必须|必須|必要|해야|ต้อง
"""
# Of persons and programs, not of the model that answers.
_OTHERS = """
    \\buser\\b|customer|colleague|co-?worker|\\bboss\\b|manager|attacker|hacker|reviewer|some(one|body)\\b|stranger
    nutzer|benutzer|anwender|\\bkund(e|in|en)\\b|kolleg|chef\\b|angreifer|utilisat|l'usager|\\bclient|collègue
    attaquant|pirate\\b|usu[aà]ri|usuári|coleg[au]|jef[ea]\\b|atacante|utent|company\\b|attaccant|gebruiker|\\bklant
    collega|aanvaller|użytkown|\\bklient|koleżan|atakując|napastni|uživatel|z[aá]kazn[ií]|koleg|útočn|používateľ
    uporabni|\\bstrank|sodelav|klijent|napadal|korisni|napadač|корисни|клијент|нападач|пользоват|клиент|коллег
    злоумышл|користувач|клієнт|колег|зловмис|потребител|нападател|utilizator|atacator|felhasznál|ügyf[eé]l|kollég
    támad|använda|kund(en|er)|angripar|bruger|kunde[nr]|bruker|angriber|angriper|käyttäj|asiaka|hyökkä|kasutaja
    \\bklien|kolleeg|kolēģ|ründaja|lietotāj|uzbrucē|vartotoj|užpuolik|kliento?|χρήστη|πελάτη|συνάδελφ|επιτιθέμ
    kullanıcı|müşteri|meslektaş|saldırgan|مستخدم|عميل|زميل|مهاجم|کاربر|مشتری|همکار|משתמש|לקוח|קולגה|עמית|תוקף
    उपयोगकर्ता|ग्राहक|सहकर्मी|हमलावर|ব্যবহারকারী|গ্রাহক|সহকর্মী|பயனர்|வாடிக்கையாளர்|சக ஊழியர்|صارف|گاہک|用户|用戶
    客户|客戶|同事|攻击者|攻擊者|黑客|ユーザー|お客|顧客|同僚|攻撃者|上司|사용자|고객|동료|공격자|người dùng
    khách hàng|đồng nghiệp|kẻ tấn công|pengguna|pelanggan|rekan|penyerang|ผู้ใช้|ลูกค้า|เพื่อนร่วมงาน|ผู้โจมตี
    kliyente|kasamahan|mtumiaji|mteja|mwenzangu
"""
_OTHER_PERSONS = """
    jemand ander|quelqu'un d'autre|otra persona|otra gente|qualcun altro|outra pessoa|iemand anders|ktoś inny|někdo jiný
    niekto iný|netko drugi|кто-то другой|хтось інший|някой друг|altcineva|valaki más|någon annan|en annen|en anden
    joku muu|keegi teine|κάποιος άλλος|başka biri|başkası|شخص آخر|کس دیگر|מישהו אחר|किसी और|কেউ অন্য|别人
    別人|他人|別の人
    誰か|다른 사람|người khác|orang lain|คนอื่น
"""
# To them it is sent, where verbs have no tense: it is the model's own then.
_TO_THEM = re.compile(
    r"[给給为為向对對]\w{0,2}(?:用户|用戶|客户|客戶|同事)|(?:ユーザー|お客様|お客さま|顧客|同僚)(?:さん)?[にへ](?!よ)|"
    r"(?:사용자|고객|동료)\S{0,2}(?:에게|께)|(?:إلى|\bل)\s?(?:ال|ل)?(?:مستخدم|عميل|زميل)|"
    r"\b(?:gửi|viết|nói)(?: \w+){0,2} (?:người dùng|khách hàng|đồng nghiệp)|"
    r"\b(?:ke|kepada|untuk) (?:pengguna|pelanggan|rekan)|(?:ให้|ถึง|แก่)(?:ผู้ใช้|ลูกค้า|เพื่อน)"
)
# What they have done with it; what is done now is the model's own: "As the customer asked, I send:".
_SAID = """
    \\b(wrote|written|said|sent|proposed|suggested|recommended|posted|pasted|came up with)\\b|geschickt
    gesendet|geschrieben
    gesagt|schrieb\\b|sagte\\b|schickte|sandte|schlug|vorgeschlagen|vorschlug|empfahl|stammt|gebeten .*zu
    hat .*zu \\w+en\\b|envoy[eé]\\b|a écrit|a dit\\b|propos[eé]\\b|a suggéré|(pro)?vient d|envió|escribió|dijo\\b
    propuso|sugirió|mandó|viene d|enviou|escreveu|disse\\b|propôs|sugeriu|mandou|veio d|vem d
    va (enviar|escriure|dir|propo)|inviato|scritto|detto\\b|proposto|suggerito|mandato|stuurde|schreef|\\bzei\\b
    stelde|verstuurde|gestuurd|voorgesteld|geschreven|komt van|wysłał|napisał|powiedział|zaproponował|zasugerował
    przysłał|pochodzi|poslal|napsal|řekl|navrh(l|ol)|pochází|napísal|povedal|pochádza|napisa|\\brekel|predlag
    predložio|predložil|rekao|poslao|послао|написао|рекао|предлож|отправил|написал|сказал|прислал|посоветовал
    предложила|надіслав|написав|сказав|запропонував|прислав|изпрати|написа|каза\\b|trimis|scris\\b|\\bspus|propus
    sugerat|provine|küldött|küldte|írta\\b|mondta|javasol|skickade|skrev|\\bsa\\b|sade\\b|föreslog|kommer från
    sendte|sagde|foreslo|kommer fra|lähetti|kirjoitti|sanoi|ehdotti|tulee|saatis|kirjutas|ütles|pakkus|soovitas
    nosūtīj|rakstīj|teica|ieteica|siuntė|parašė|sakė|pasiūlė|έστειλε|έγραψε|είπε|πρότεινε|gönderd[iı]|yazdı|yazdığı
    dedi\\b|söyledi|önerdi|önerdiği|أرسل|كتب|قال|اقترح|فرستاد|نوشت|گفت|پیشنهاد|שלח|כתב|אמר|הציע|भेजा|लिखा|कहा|सुझा
    পাঠিয়েছ|লিখেছ|বলেছ|প্রস্তাব|அனுப்பிய|எழுதிய|சொன்ன|بھیجا|لکھا|کہا|发送|發送|发来|發來|发了|發了|推荐|推薦|写|寫
    说|說|建议|建議|提议|提議|输入|送信した|書い|言っ|提案|入力|送っ|書か|書き|届い|薦め|보낸|보내온|추천|보냈|쓴
    쓰신|썼|입력|제안|말한|말했|\\b(gửi|viết|nói)\\b|đề xuất|gợi ý|dikirim|mengirim|ditulis|menulis|mengusul
    menyarankan|ส่งมา|เขียน|เสนอ|พูด|ipinadala|sinulat|sinabi|alituma|aliandika|alisema
"""
# How one says "this", "that" and "so" of the value.
_THIS = """
    \\b(this|these|those)\\b|\\b(that|it)$
    \\b(das|dies|dieser?|es|cela|ceci|ça|c'|ce|eso|esto|este|lo|ho|això|aquest|questo|isto|isso|dit|dat
    het|to|tak|toto|tohle|tak[to]*|ovo|ово|то|это|так|це|това|го|asta|acesta|aceasta|ez|ezt|azt|det|detta
    den|dette|tämä|tämän|sen|see|selle|seda|šis|tas|tā|to|tai|αυτό|bu|bunu|onu|ini|itu|ito|hii|hili)\\b
    \\bc'|هذا|هذه|این|את זה|זה\\b|זו\\b|यह|এটা|এটি|இது|یہ|这|這|これ|こちら|이것|이건|điều này|cái này|นี่|สิ่งนี้
"""
# The same where it is said what the value is, and how little of it.
_THIS_IS = """
    (das|dies|dies hier|es|das hier) (ist|war|wäre)\\b|c(e n)?'(est|était)\\b|(ceci|cela) (est|était)|ce n'est
    ((esto|eso|este) )?(es|era|fue)\\b|((això|aquest|aquesta) )?(és|era)\\b|((quest[oa]|ciò) )?(è|era)\\b
    ((isto|isso|este|esta) )?(é|era|foi)\\b|(dit|dat|het) (is|was)\\b|to (je|był\\w*|jest|tylko|byl\\w*)\\b
    (toto|tohle|tato|táto) (je|byl\\w*|bol\\w*)|to bol\\w*|(je|byl\\w*|bol\\w*) to\\b
    ((to|ovo|ово|то) )?(je|је|bi[lo]+|био)\\b|(это|то)\\b( был\\w*)?(?! \\w+[её]т\\b| \\w+ит\\b)
    (це|то)\\b( був)?(?! \\w+(є|ить)\\b)|(това|то) (е|беше)|((asta|acesta|aceasta) )?(e|este|era)\\b|(ez|az)\\b
    (det|dette|detta|den) (är|var|er)\\b|(tämä|se|tuo) (on|oli)\\b|(see|too) (on|oli)\\b|(šis|tas|tā|šī) (ir|bija)
    (tai|šis|ši)\\b( (yra|buvo))?|((αυτό|αυτή) )?(είναι|ήταν)|(bu|şu|o)\\b|(هذا|هذه|كان|كانت)\\b|(این|آن)\\b
    (זה|זו|זאת|היה|הייתה)\\b|(यह|ये|वह)|(এটি|এটা)|(இது|அது)|(یہ|وہ)|[这這那](只?是|个|個|些|仅)
    (これ|それ|こちら|上記|以上)[はがも]|(이것|이건|이는|그것|위)|(đây|đó|nó)( chỉ)? là|(ini|itu)\\b|(นี่|นั่น|มัน)
    (ito|iyan) |(huu|hii|hili|huo) ni
"""
# What somebody has made a mistake of, where "it is" stands before it.
_MISTAKES = """
    fehler|versehen|erreur|faute\\b|pomyłk|vergissing|误会|誤會|手違い|sai lầm|\\berrore?\\b|\\berro\\b|error|fout
    błąd|chyb|napak|gre[sš]k|omyl|греш|ошибк|помилк|greșeal|hiba\\b|\\bfel\\b|\\bfeil|\\bfejl|virhe|viga|kļūd|klaid
    λάθος|λάθοσ|\\bhata|خطأ|خطا|اشتباه|غلط|טעות|गलती|ভুল|தவற|错误|錯誤|間違|ミス|실수|오류|\\blỗi|kesalahan
    ข้อผิดพลาด|mali\\b|kosa\\b
"""
# "Halimbawa lamang ito", where what it is comes first.
_ONLY_IT = "halimbawa (lamang|lang)|példa volt|mfano tu"
# Where something was found: a lead of nothing else shows it.
_SOURCE = re.compile(
    r"(?:(?:taken |copied |pasted |quoted |an? )?(?:excerpt |extract |snippet )?(?:from|out of)|aus|auszug aus|"
    r"extrait|des?|del?|desde|dai|dagli|dal|dos|das|do|uit|ze?|из|з|от|från|fra|din)\b (?:[\w']+ ){0,3}?\w*(?:logs?|"
    r"logfile\w*|logbo\w+|loggarn\w+|logov?|logów|ticket|transcript|e-?mail|backlog|changelog|archives?|history|"
    r"docs|documentation|readme|web ?(?:page|site)|chat|forum|protokoll\w*|journaux|registr\w+|z[aá]znam\w*|"
    r"журнал\w*|jurnale\w*)(?: (?:ser[vw]\w+|сервер\w*|antig\w+|viej\w+|vell\w+|anterior\w*|anciens|passés))?$|"
    r"摘自.*|.*から(?:の抜粋|抜粋|の引用)$|.*발췌.*"
)
# Thought of and not done: at the end of a lead.
_DROPPED = re.compile(
    r"\b(?:dropped|discarded|abandoned|(?:ruled|left) out|decided against|opted against|gave up(?: on)?|verworfen|"
    r"abandonn\w+|écart\w+|descart\w+|scartat\w+|vallen|odrzuci\w+|zavrh\w+|opusti\w+|odbaci\w+|отброси\w+|"
    r"отверг\w*|відкину\w+|отхвърли\w*|abandonat\w*|elvetettem|förkasta\w+|droppede|forkaste\w+|hylkäsin|"
    r"vazgeç\w+.*)(?: habe| hatte| al final| alla fine| à la fin| in the end)?$|放弃的|放棄した|버린|却下"
)
_FIRST = r"(?:you|i|we|it|that|this|which|who|here|now|then|so|just|and|also|already)"
# In English whoever is named, in other languages those that a table names.
_RELAYED = re.compile(
    r"(?:^|\b(?:is|are|was|were|here's|that's|exactly) )(?:what|how|all|everything|the \w+ that) (?!(?:you|i|"
    r"we)\b)(?:[\w']+ ){1,4}?(?:sent|said|wrote|did|ran|tried|proposed|suggested|recommended|posted|pasted|replied|"
    r"answered|typed|submitted|produced|generated|returned|gave|had|used|called|executed|entered|"
    r"told)\b(?:(?!\b(?:and|so|will|i|we|can|now)\b).){0,30}$|"
    rf"^(?:(?!{_FIRST}\b)[\w'.-]+ ){{1,4}}(?:proposed|suggested|recommended|replied|answered|posted|wrote|sent)"
    r"(?: (?:me|us|over|this|that|it|the following|(?:the|this) (?:call|json|answer)))*$|\b(?:was|am|were|been|"
    r"got) (?:told|asked|instructed|ordered|urged|advised) to \w+( \w+)?$|\b(?:asked|told|wants?|wanted|"
    r"instructed|ordered|"
    r"urged) (?:me|us) to \w+( this| that| it)?$|\b(?:their|his|her|somebody's|someone's|(?:the|my|"
    r"our) [\w ]{1,30}'s|user's|customer's|client's) (?:\w+ )?(?:suggestion|proposal|idea|attempt|answer|reply|"
    r"version|message|words|input|code|draft|approach|plan|payload)(?: (?:was|is|were|are|reads))?$|^(?:quoting|"
    r"citing|paraphrasing|reciting|quote|quotation|excerpt)\b|\b(?:in an|an) ideal (?:world|case)\b|^the (?:message|"
    r"words|prompt|mail|e-mail|text|page) (?:of|from|by) .{1,40}$"
)
_DISOWNED = re.compile(
    r"\b(?:i'?d|i would|i|we'?d|would) (?:much )?(?:rather|prefer)(?: to)? not\b|\bprefer not to\b|"
    r"\bi'?d rather (?:you|wait|ask)\b|\bnot (?:my|mine)\b|^(?:better|rather) not\b|\bdecided against\b|"
    r"^on reflection,? no\b|^(?:the|this|that|it|these|those|all)\b.{0,30}?\b(?:is|was|were|are|comes?|came|stems?|"
    r"originates?)\b(?: \w+)? (?:from|by) (?:the|an?|my|our|their|his|her|some|another) (?:\w+ )?(?:attacker|hacker|"
    r"user|customer|client|colleague|boss|manager|stranger|coworker|reviewer|third party|agent|web ?(?:page|site)|"
    r"prompt)|^(?:these|those|this|that|it)(?: \w+)? (?:are|is|were|was) (?:the|my|our|a|his|her|their) (?:(?!for |"
    r"to |of )\w+ ?){0,3}(?:'s|s'|\bhis|\bher|\btheir) (?:\w+ )?(?:words?|text|message|suggestion|proposal|idea|"
    r"input|request|code|version)$"
)
_PREFERS_NOT = """
    préfère ne|prefiero no|prefereixo no|preferisco no|prefiro n|liever niet|wolę .*nie|raději ne|radšej nie|raje ne
    radije ne|радије не|краще не|по-добре не|prefer să nu|inkább (nem|még|ne)|helst (inte|ikke)|mieluummin en
    parem mitte|labāk nē|geriau ne|καλύτερα όχι|m[ae]mayı tercih|m[ae]meyi tercih|yapmamay|أفضل ألا|أفضل عدم
    ترجیح .*ن|עדיף שלא|नहीं चाह|不想|不愿|やめて?おき|하지 않는 편|tốt hơn là không|sebaiknya tidak|lebih baik tidak
"""
# "As the customer asked, I send:" tells why, and gives.
_AS = re.compile(
    r"(?:as|wie|comme|como|come|com|zoals|jak|ako|kot|kao|како|как|както|як|cum|după|ahogy|som|kuten|nagu|kā|kaip|"
    r"όπως|gaya|kama|seperti|như|theo|sesuai|based on|given|with|using|for|following|because|since|after|basierend|"
    r"selon|según|segundo|secondo|volgens|zgodnie|podle|podľa|glede|prema|по|за|согласно|згідно|според|conform|"
    r"enligt|ifølge|pagal|σύμφωνα)\b|كما|بناء|همان|طبق|כפי|לפי|ตามที่|按照|根据|根據|按|依|.*(?:どおり|通り|に従|"
    r"대로|에 따라|gibi|üzerine|अनुसार|अनुरोध|অনুরোধ|درخواست)"
)
_OWN = re.compile(r"(?:so |then |now |and )?(?:i|we)(?:'ll|'ve|'m)? (?!was\b|were\b|am\b|got\b)")
_CLAUSE = re.compile(r"[,;–—،、，；]\s*")
_FILE = re.compile(r"\b[\w/-]{2,}\.[a-z]{2,5}\b", re.ASCII)


def without_files(sentence: str) -> str:
    """Take the names of files out of a sentence: "example.json" is no example."""
    return _FILE.sub("", sentence)


def is_wrong(sentence: str, *, here: bool = False) -> bool:
    """Tell whether a sentence calls something wrong, and not mended; English is asked for with `here`."""
    said = says(_WRONG, sentence) or (here and says(_WRONG_HERE, sentence))
    return said and not (says(_MENDED, sentence) and not says(_OUGHT, sentence))


def is_shown(lead: str) -> bool:
    """Tell whether a sentence before a value shows it: an example, a draft, or what somebody else said or planned."""
    clause = next(part for part in reversed(["", *_CLAUSE.split(lead)]) if part or part == lead or not lead)
    if says(_EXAMPLES, lead) or says(_DRAFTS, lead) or _SOURCE.match(lead) or _DROPPED.search(lead):
        return True
    if _AS.match(lead) or _AS.match(clause) or _OWN.match(clause):
        return False
    return _RELAYED.search(clause) is not None or _is_by_others(clause)


def is_disowned(sentence: str) -> bool:
    """Tell whether a sentence behind a value says that it was only shown: "It was an example", "She wrote it"."""
    words = sentence.rstrip(".。!！ ")
    if _DISOWNED.search(words) or says(_PREFERS_NOT, words):
        return True
    is_unspaced = len(words.split()) <= 2 and any(ord(sign) > 0xE00 for sign in words)
    if len(words) > MOST_SIGNS if is_unspaced else len(words.split()) > MOST_WORDS:
        return False
    found = alternatives(_THIS_IS).match(words)
    rest = words[found.end() :] if found else ""
    # At its end: "This creates an example of a file" says something else.
    rest = rest[-MOST_SIGNS // 2 if is_unspaced else -MOST_SIGNS :]
    if any(says(table, rest) for table in (_EXAMPLES, _DRAFTS, _MISTAKES)) and not says(_MENDED, words):
        return True
    return says(_ONLY_IT, words) or (says(_THIS, words) and _is_by_others(words))


def _is_by_others(words: str) -> bool:
    is_theirs = says(_OTHERS, words) or says(_OTHER_PERSONS, words)
    return is_theirs and says(_SAID, words) and _TO_THEM.search(words) is None
