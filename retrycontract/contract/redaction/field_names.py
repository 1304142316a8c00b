"""Judge field names: which words make a value secret, which make it harmless, and what joins the two."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from string import digits

from retrycontract.contract.redaction.scan_copies import FOREIGN, ascii_copy


def word_set(words: str) -> frozenset[str]:
    """Read a set of words that white space separates."""
    return frozenset(words.split())


# Words of which a secret's name has at least one; a text without any of them is not looked at by name.
NAME_WORDS = (
    "pass|pasw|p?swd|pwd|passwort|kennwort|contrase|senha|secret|token|key|auth|cred|jwt|bearer|session|sessid|cookie|otp|cvv|"
    "cvc|ssn|sig|dsn|conn|login|access_?id|accessid|mnemonic|art-api|client_srt|csrf|xsrf|pin|salt|sas|pw|psk|seed|"
    "sid|mfa|pepper|[dk]ek\\b|two_?factor|zugangsd|(?:verification|security|recovery|backup)[_ -]?(?:code|phrase)|"
    "social_?security|dapi|hmac|"
    # Other languages, without their accents.
    "mot[ _-]de[ _-]passe|mdp|wachtwoord|parool|hasl[oae]|sifr[aeu]|parol|hesl[oae]|jelsz|losenord|adgangskode|kodeord|"
    "salasana|lozink|gesl[ao]|slaptazodis|pasahitza|contrasin|fjalekalimi|nenosiri|cyfrinair|lykilord|mat[ _-]?khau|"
    "wagwoord|nywila|neno[ _-]la[ _-]siri|kata[ _-]?(?:sandi|laluan)|zugangscode|losungswort|"
    "toegangscode|jeton|geheimnis|segret|segred|cle[ _-]?(?:d.)?api|cle[ _-]?secrete|clave|chave|"
    "chiave[ _-]?api|schlussel|sleutel|klucz[ _-]?api|nyckel"
)
KIND_OF_NAME = r"(?:(?:api|access|secret|private|auth|master)[ ])"
TAIL_OF_NAME = r"(?:[ ](?:key|secret|token|phrase|string|code|seed|word))?"
SECRET_NAME = rf"{KIND_OF_NAME}?[\w.$@-]*(?:{NAME_WORDS})[\w.$-]*{TAIL_OF_NAME}"

# "API key", "secret key" and "access token" in other languages: a noun, and before or behind it what it opens.
_NOUN = (
    r"(?:clau_*|(?:clave|chave|llave|cle|chiave|chei[ae]|voti|kunci|khoa|gakoa?|ufunguo|allwedd)s?\b"
    r"|(?:schlussel|s[lj]eutel|nyckel|nokkel|nogle|avain|kl[iu]c|kulcs|kljuc|klucz|anahtar|raktas|atsleg|lykil|celes)[a-z]{0,4})"
)
_OPENED = (
    r"(?:api\b|acc?es+[os]?|akses|dostep|pristup|erisim|truy[ ]cap|secret|sekret|segret|geheim|gizli|tajn|hem(?:me)?lig"
    r"|skrivni|slepena|salai|titkos|slapt|rahs|rahasia|siri\b|bi[ ]mat|salaj)"
)
FOREIGN_KEY = (
    rf"(?:{_OPENED}[a-z_{FOREIGN}]{{0,6}}[ _-](?:za[ ])?{_NOUN}"
    rf"|{_NOUN}[ _-](?:(?:d[aei]?|dell|wa|za)[ '_-])?{_OPENED}[a-z_{FOREIGN}]{{0,6}}"
    rf"|(?:token|jeton)[ ](?:d[ei]?[ '])?(?:acc?es(?:s?o|s[ay])?\b|akses|dostepu|pristupa?))"
)

SPACE = r"[ \t]{0,8}"
GAP = r"[ \t]{0,60}"  # before the sign of an assignment, which may stand in a column
# In a form a star or a colon ends the label, within its quotes.
CLOSERS = r"(?:\*|:[\"'])?[\"'`\\\])}]{0,4}"
# `name: type =`, `name type =`, `name As type =`, `name[size] =`, `name { get; } =`, `name, other =`, `name").fill(`,
# `=>`, `:=`, `??=`, `.=`, `=`, `<-`, `->`, `?:`, `:`, `,` or nothing (between two quoted strings), ` is `
# A value behind one of these has to look like one.
_VERB = (
    r"\b(?:(?:(?:was|is|has been) )?(?:now|set to|changed to|reset to)|(?:will|should|would|must|shall) (?:now )?be|'s|"
    r"is|was|are|ist|war|lautet|est|es|era|e|sera|to|"
    r"jest|brzmi|je|zni|ar|er|on|este|adalah|ialah|la|yra|eshte|ir|ay|ni|az):? "
)
# What a browser's script does with the field that a quoted name points at.
_TYPED = (
    r"(?:\.(?:first|last|clear|click|focus)(?:\(\))?)?\.(?:to_?be|to_?equal|to_?strict_?equal|fill|type|send_?keys|press_?sequentially|(?:set|add)_?value|set_?text"
    rf"|(?:perform\()?(?:enter|input|type|replace|perform_?)_?text(?:_?input)?|set|val|value|text)(?:\(|{SPACE}=)"
)
# A word in another script between name and value, or right behind the name, says the same.
_FOREIGN_VERB = rf"(?:[A-Za-z]{{0,6}}{FOREIGN}[A-Za-z{FOREIGN}]{{0,10}}:? |{FOREIGN}{{1,3}})"
OPERATOR = (
    rf"(?:[?!]?:{SPACE}\w{{1,16}}{SPACE}=|{SPACE}\w{{1,12}}(?:\([0-9, ]{{1,6}}\))?{SPACE}:?="
    rf"|[ \t]as[ \t]{{1,4}}[\w.]{{1,24}}{SPACE}=|\[[^\[\]\n]{{0,40}}\]{SPACE}:?=|\{{[^{{}}\n]{{0,40}}\}}{SPACE}="
    rf"|(?:,{SPACE}[\w.$@]{{1,30}}){{1,4}}{SPACE}:?=|{_TYPED}"
    rf"|{SPACE}\|{SPACE}default\(|:-|=>|:{{1,3}}=|[?+.|]{{0,2}}={{1,3}}|!={{1,2}}|<{{1,2}}-|->"
    rf"|;s:[0-9]{{1,6}}:|[?!]?:\*\*|[?!]?:|,|- |{_VERB}|{_FOREIGN_VERB}|[ \t][\"'])"
)
# What each of them has, without what counts and what captures: RE2 passes over a text with a fraction of the states.
SIGN = (
    r"\*?[\"'`\\\])}]*[ \t]*"
    r"(?:[?!]?:|,|;s:|-[ >]|[?+.|!]*=|<{1,2}-|\w+(?:\([0-9, ]+\))?[ \t]*:?=|[ \t]as[ \t]+[\w.]+[ \t]*="
    rf"|\[[^\[\]\n]*\][ \t]*:?=|\{{[^{{}}\n]*\}}[ \t]*=|{_TYPED}|\|[ \t]*default\(|{_VERB}"
    rf"|[A-Za-z]*{FOREIGN}|[ \t][\"'])"
)

# Longer names are judged by their two ends, so that a name of a megabyte costs no more than this.
LONGEST_NAME = 160

# One table per mark: a word of the name (or neighbours joined, as in `api_key`) that makes the value secret.
_MARKS: dict[str, str] = {
    # Other languages stand here without their accents; those of other scripts in `foreign_words`.
    "PASSWORD": "password passwords passwd passwds pwd pass pw passphrase passcode storepass keypass masterpassword "
    # Slips of the keyboard, and names of Wi-Fi and of PAM.
    "pasword passowrd passwrd paswword passwort pswd psswd passwor wifikey wlankey wlanschlussel wpakey authtok pword "
    "passwort passworter kennwort losungswort contrasena contrasenya contrasinal senha parola parolasi parolaniz parol "
    "motdepasse depasse mdp palavrapasse wachtwoord haslo hasla sifre sifresi sifreniz sifrem parool heslo jelszo "
    "jelszava losenord losenordet passord passordet adgangskode kodeord kodeordet salasana lozinka lozinku geslo "
    "slaptazodis slaptazodi pasahitza fjalekalimi fjalekalimin nenosiri nenolasiri nywila cyfrinair lykilord matkhau "
    "wagwoord jelszavam jelszavad adgangskoden kodeorden passorden haslem heslem hesla heslom gesla geslom lozinkom "
    "lozinke salasanan salasanalla parooli sifra sifru sifreyi parolei katasandi katasandinya katalaluan zugangscode "
    "toegangscode psk presharedkey wpapassphrase wpapsk keymaterial passconfirm snmpcommunity readcommunity "
    "writecommunity claveacceso clavedeacceso claveusuario "
    "clavedeusuario clavemaestra clavewifi claveadmin clavebd clavedb",
    "SECRET": "secret secrets mnemonic seedphrase recoveryphrase recoverycode recoverycodes backupcodes totpseed "
    "jwtkey passwordsalt securityanswer otpseed totpsecret otpsecret totpkey mfaseed geheimnis segreto "
    "segredo",
    "TOKEN": "token bearer csrf xsrf csrftoken authtoken accesstoken refreshtoken idtoken accesstokens "
    "refreshtokens authtokens apitokens authcode authcookie jeton jetonu",
    "API_KEY": "apikey apikeys xapikey appkey applicationkey consumerkey servicekey subscriptionkey functionskey "
    "authkey accountkey storagekey licensekey licencekey sonarlogin masterkey deploykey integrationkey apitoken "
    "artapi cleapi "
    "ghpat azurepat githubpat gitlabpat stripekey openaikey anthropickey geminikey dapi claveapi chaveapi chiaveapi "
    "apischlussel apisleutel kluczapi apinyckel",
    "ACCESS_KEY": "accesskey accesskeys secretkey secretkeys secretaccesskey clesecrete clavesecreta chavesecreta "
    "zugriffsschlussel toegangssleutel",
    "PRIVATE_KEY": "privatekey privatekeys signingkey encryptionkey decryptionkey sshkey hmackey aeskey rsakey "
    "sharedkey cryptokey serverkey enckey cryptkey signkey unsealkey networkkey vapidprivate privkey claveprivada "
    "chaveprivada",
    "AUTHORIZATION": "auth authorization authorisation proxyauthorization xauth",
    "CREDENTIAL": "credential credentials cred creds zugangsdaten anmeldedaten credenciales credenziali credenciais",
    "JWT": "jwt jwts",
    "SESSION": "session sessions phpsessid jsessionid sessid sessionkey sessionsecret sessioncookie",
    "COOKIE": "cookie cookies setcookie",
    "CONNECTION_STRING": "dsn connectionstring connectionstrings connstr connstring connectionuri",
    "PIN": "pin pincode puk",
    "OTP": "otp totp otpcode mfacode twofactorcode verificationcode smscode emailcode logincode authenticationcode "
    "confirmcode",
    "CVV": "cvv cvc cvv2 cvc2 securitycode",
    "SSN": "ssn socialsecuritynumber socialsecurity",
}
WORDS_FOR_SECRETS = {word: mark for mark, words in _MARKS.items() for word in words.split()}
_SECRET_WORDS = dict(WORDS_FOR_SECRETS)
# Written as one word: `dbpass`, `rootpw`; `compass`, `bypass`, `sshpass` and `pgpass` are others.
_WHOSE = (
    "db database user usr root login admin my mysql sql postgres mongo redis smtp imap ftp sftp ldap mail email "
    "sudo su wifi wlan vpn web http app api account acct client server sys system svc service host proxy bind cert key "
    "dn keystore trust truststore jks vault rabbit amqp mqtt default temp tmp new old current cur master main test "
    "dev prod remote local"
)
_SECRET_WORDS |= {f"{whose}{word}": "PASSWORD" for whose in _WHOSE.split() for word in ("pass", "pw", "pword", "passw")}
# What ends a name of which the value is secret whatever else the name says.
SURE_ENDING = (
    rf"(?:(?:\b|_|{_WHOSE.replace(' ', '|')})(?:pass|pw)|passw(?:or)?d|passwort|passphrase|passcode|pwd|kennwort|"
    r"contrasena|senha|wachtwoord|secret|token|jwt|bearer|mnemonic|dsn|credentials?|"
    r"(?:api|access|secret|private|master|account|shared|signing|encryption)[_ -]?key)"
)
# `dbpassword`, `userauthtoken`: a word that ends so was written without a separator.
_SECRET_ENDINGS = {
    "password": "PASSWORD", "passwd": "PASSWORD", "passphrase": "PASSWORD", "passcode": "PASSWORD",
    "storepass": "PASSWORD", "keypass": "PASSWORD", "passwort": "PASSWORD", "kennwort": "PASSWORD",
    "pwd": "PASSWORD", "secret": "SECRET", "token": "TOKEN", "apikey": "API_KEY", "accesskey": "ACCESS_KEY",
    "secretkey": "ACCESS_KEY", "privatekey": "PRIVATE_KEY", "connectionstring": "CONNECTION_STRING",
}  # fmt: skip
_ENDINGS = tuple(_SECRET_ENDINGS)
_NOT_SECRETS = word_set("secretary secretaries secretariat secretariats secretion secretly nopasswd")
# What lets somebody in is no password: `boarding pass`, nor is a turn of a program: `second pass`.
_OTHER_PASSES = word_set(
    "boarding ski season day bus train rail visitor hall press mountain gate travel first second third"
)
# These also name ordinary things, so they count only as the last word or before one of the tails.
_SOFT_MARKS = frozenset({"SESSION", "AUTHORIZATION", "COOKIE", "PIN", "OTP"})
_TAILS = word_set(
    "value string header headers data key code hash secret raw text b64 base64 encoded new old current plain "
    "prod production staging live token jar store"
)
# A name that ends so speaks *about* a secret: `token_count`, `password_policy`, `secret_name`.
_DESCRIPTORS = word_set(
    "address alg algorithm alias allowed arn at attempts audience behavior behaviour budget cap changed class column "
    "cost count counts created date days default description dir directory documentation domain duration email "
    "enabled encoding encryption endpoint env error exists expiration expires expiry fd field fields file filename "
    "format hasher hashers hint hints host id ids argtypes restype in index input issuer kind label last length level "
    "lifetime limit limits link location manager max message mgr method min minutes missing mode modified name names "
    "note notes operation options output owner param parameter path paths permissions policy port position prefix "
    "price prompt properties number regex regexp pattern property protected provider purpose rate re ref reference "
    "region required requirements requirement role rotated rotation rule rules scheme scope scopes seconds selector "
    "server service shape size source stage start state stats status stdin step strategy strength style suffix supply "
    "symbol term text_length threshold time timeout title topic total ttl type types updated uri url urls usage used "
    "user username valid validation validator validators variable version visible window"
)  # fmt: skip
# In front of `token`, these make it a unit of text or a place in a listing: `page_token`, `max_tokens`, `eos_token`.
_TOKEN_UNITS = word_set(
    "max min num n nb total count page next prev previous continuation continue sync cursor pagination paging "
    "stop eos bos pad unk mask sep cls special end first last per cached reasoning image audio prompt completion "
    "input output budget used remaining j sub tokenizer nft erc20 base quote"
)
# A name that begins with one of these asks, counts or labels, and its value is no secret: `has_password`, `label.pin`.
_QUESTIONS = word_set("is has requires require needs forgot no num count show hide label placeholder caption tooltip")
# The last word of a name whose value may be secret: the value has to look random as well.
_WEAK_WORDS = frozenset(
    {"key", "keys", "tokens", "login", "sig", "signature", "salt", "seed", "pat", "sid", "license", "sas", "hmac",
     "signed", "srt", "webhook", "pepper", "dek", "kek", "accessid", "clave", "chave"}
)  # fmt: skip
# Two words that name an id which opens doors.
_SECRET_IDS = frozenset({"accessid", "secretid"})
# In front of `key`, these make it a place or a public thing.
_PUBLIC_KEYS = word_set(
    "primary foreign sort partition cache public pub map row object s3 bucket idempotency dedup dedupe unique hash "
    "group issue project recv receive lookup index range shard routing translation i18n message locale column config "
    "node react dict json field registry item record entity document doc game hot short arrow answer foreignkey state"
)
# The last word of a name whose random-looking value is a digest, an identifier or a body of text.
_IDENTIFIERS = word_set(
    "sha md commit commits digest hash hashes etag id ids uuid guid trace span checksum rev "
    "revision revisions ref refs cursor content contents body text base b64 image images blob bytes payload "
    "integrity fingerprint hex address addr tx txid txn cid oid slug path paths file filename url urls uri href "
    "link src html markdown code script source sources query data buffer screenshot attachment audio video "
    "parent head tree snapshot version nonce challenge"
)

# What stands where a type, a kind or a switch is named, not a secret.
KINDS = word_set(
    "string str text bytes int integer number float boolean bool any object array list dict map required optional "
    "basic bearer digest oauth oauth2 oidc saml jwt none null default enabled disabled on off yes no auto type "
    "undefined nil true false password token secret key apikey api_key header cookie session sessions anonymous "
    "public private hidden new test static final const let var async await function lambda return readonly import "
    "expired invalid valid missing unauthorized forbidden active inactive strict lax local global remote user "
    "md5 scram-sha-256 not_given utf-8 utf8 utf-16 utf-16le ascii latin-1 latin1 base64"
)
# A rule for passwords begins so, where the password itself would stand: `Password: must be changed`.
RULES = word_set(ascii_copy(
    "must cannot should will minimum min case-sensitive mandatory mindestens erforderlich pflichtfeld notwendig "
    "obligatoire requis requise doit obligatorio obligatoria requerido requerida mínimo mínima debe obrigatório "
    "obrigatória deve obbligatorio obbligatoria richiesto richiesta almeno minimo verplicht vereist minimaal moet "
    "wymagane wymagany musi povinné povinný minimálně obligatorisk krävs minst måste påkrevd påkrævet skal pakollinen "
    "vaaditaan vähintään zorunlu gerekli kötelező obligatoriu wajib обязательное обязательно обязателен минимум "
    "должен требуется введите обовязкове υποχρεωτικό απαιτείται"
))  # fmt: skip

# A key of a secret has digits among its letters; those of hosts, people and versions have them at the end of a part.
_WITHIN_WORD = re.compile(r"[A-Za-z][0-9]+[a-z]")
# A digit and a sign that no name has, or a number that people add to a word.
_NO_NAME = re.compile(r"[0-9][^\s]*[!#%^&*+~]|[!#%^&*+~][^\s]*[0-9]|[A-Za-z_-](?:12+3+[0-9]*|(?:19|20)[0-9]{2}|321)\Z")
_FOREIGN_KEY = re.compile(rf"\b{FOREIGN_KEY}\Z")
_PARTS, _DIGITS = re.compile(r"[._\-/:@ ]"), re.compile(r"[0-9!#$%^&*+?~]+")
SHORTEST_KEY = 6
_BOUNDARY = re.compile(
    r"[\W_]+|(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """Say where a value stands: beside which name, behind which operator, after a blank, on a line of its own.

    `is_argument` where program text gives it to a function, `goes_on` where more words follow, `is_expression` where
    what follows makes it a part of one.
    """

    name: str
    operator: str
    spaced: bool
    starts_line: bool
    is_argument: bool = False
    goes_on: bool = False
    is_expression: bool = False

    @property
    def is_header(self) -> bool:
        """Say whether the name is one of an HTTP header of its own, such as `X-Api-Key`."""
        return self.operator == ":" and self.name[:2] in ("X-", "x-")


@dataclass(frozen=True, slots=True)
class NameVerdict:
    """Say what a name tells of its value.

    `mark` is set when the name alone makes the value secret, `weak` when the value has to look random as well;
    `public` when even a random value, such as an idempotency key, is none; `descriptor` when the value only
    describes a secret; `identifier` when it is a digest, an id or content.
    """

    mark: str | None = None
    weak: bool = False
    public: bool = False
    descriptor: bool = False
    identifier: bool = False


def judge(name: str) -> NameVerdict:
    """Judge one field name, case-insensitively and across snake_case, camelCase and kebab-case."""
    if len(name) > LONGEST_NAME:
        name = name[: LONGEST_NAME // 2] + "_" + name[-LONGEST_NAME // 2 :]
    return _judge(name.rstrip(digits))  # numbers say nothing: `field_1` and `field_2` are judged once


_OF_FORM = re.compile(
    r"(?i)(?:[_.-]?(?:field|input|box|edittext|text|txt|element|elem|locator|control|entry|ctrl))++\Z"
)


def judge_field(name: str) -> NameVerdict:
    """Judge the name of a field of a form by what is typed into it: `password_input`, `passwordField`."""
    return judge(_OF_FORM.sub("", name[-LONGEST_NAME:]))


@lru_cache(maxsize=4096)
def _judge(name: str) -> NameVerdict:
    words = split_words(name)
    if not words:
        return NameVerdict()
    is_public_key = len(words) > 1 and words[-1] in ("key", "keys") and words[-2] in _PUBLIC_KEYS
    if is_public_key:
        return NameVerdict(public=True, identifier=words[-1] in _IDENTIFIERS)
    mark = None if words[0] in _QUESTIONS else _mark(words)
    if mark:
        return NameVerdict(mark=mark)
    if is_foreign_key(words):
        return NameVerdict(mark="API_KEY")
    listing, secret_id = _counts_or_pages(words), "".join(words[-2:]) in _SECRET_IDS
    return NameVerdict(
        weak=words[-1] in _WEAK_WORDS or secret_id,
        public=listing,
        descriptor=words[-1] in _DESCRIPTORS,
        identifier=listing or (words[-1] in _IDENTIFIERS and not secret_id),
    )


def is_foreign_key(words: tuple[str, ...]) -> bool:
    """Say whether folded words end with "API key" or the like in another language."""
    return len(words) > 1 and _FOREIGN_KEY.search(" ".join(words)) is not None


def is_secret_name(text: str) -> bool:
    """Say whether a value is rather the name of a secret: `DB_PASSWORD` is, `hunter2pass` and `Sup3r_Secret` aren't."""
    if judge(text).mark is None or _NO_NAME.search(text):
        return False
    return is_spelt(text) or not _WITHIN_WORD.search(text)


def is_spelt(text: str) -> bool:
    """Say whether a name is written in several words, with signs between them."""
    return not text.isalnum() and (text.islower() or text.isupper())


def is_telling_key(name: str) -> bool:
    """Say whether a key below the name of a secret reads like a secret itself, rather than like whose it is."""
    for part in _PARTS.split(name):
        groups = len(_DIGITS.findall(part.rstrip(digits)))
        if len(part) >= SHORTEST_KEY and (groups > 1 or (groups and part.lower() != part)):
            return True
    return False


def split_words(name: str) -> tuple[str, ...]:
    """Split a name into folded words; look-alikes and accents are folded, digits at the end are dropped."""
    parts = _BOUNDARY.split(name if name.isascii() and name.isprintable() else ascii_copy(name))
    words = [part.casefold() for part in parts if part]
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return tuple(words)


def _mark(words: tuple[str, ...]) -> str | None:
    """Find the mark of the last secret word that nothing after it takes back."""
    for end in range(len(words), 0, -1):
        if words[end - 1] in _DESCRIPTORS:
            return None
        mark = _mark_at(words, end)
        soft = mark in _SOFT_MARKS or words[end - 1] in ("pass", "pw")
        if mark and not (soft and any(word not in _TAILS for word in words[end:])):
            return mark
    return None


def _mark_at(words: tuple[str, ...], end: int) -> str | None:
    word = words[end - 1]
    for neighbours in (3, 2):
        joined = "".join(words[max(end - neighbours, 0) : end])
        if joined in _SECRET_WORDS and len(joined) > len(word):
            return _SECRET_WORDS[joined]
    if word == "token" and _counts_or_pages(words[:end]):
        return None
    if word == "pass" and end > 1 and words[end - 2] in _OTHER_PASSES:
        return None
    if word.startswith("secret") and end > 1 and words[end - 2] == "existing":  # by its name, in a chart of Helm
        return None
    if word in _SECRET_WORDS:
        return _SECRET_WORDS[word]
    if word in _NOT_SECRETS:
        return None
    if word.startswith("secret"):
        return "SECRET"
    if not word.endswith(_ENDINGS):
        return None
    return next(mark for ending, mark in _SECRET_ENDINGS.items() if word.endswith(ending))


def _counts_or_pages(words: tuple[str, ...]) -> bool:
    """Tell `max_tokens` and `next_page_token` from `access_token`."""
    return words[-1] in ("token", "tokens") and any(word in _TOKEN_UNITS for word in words[:-1])
