"""What is foreign: secrets in other scripts, values that JSON has no word for, and the marks of what was removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_PASSWORDS = """
密码 密碼 口令 暗証番号 合言葉 パスワード パスフレーズ パスコード 비밀번호 암호 패스워드
пароль пароля паролем паролю парола паролата паролу лозинка лозинку лозинком лозинке шифра шифру
құпиясөз κωδικός κωδικος κωδικό κωδικός_πρόσβασης συνθηματικό
סיסמה סיסמא הסיסמה הסיסמא סיסמתי كلمة_المرور كلمة_السر كلمة_مرور كلمه_المرور الرقم_السري رمز_عبور گذرواژه پاسورڈ پاس_ورڈ
पासवर्ड कूटशब्द পাসওয়ার্ড கடவுச்சொல் పాస్వర్డ్ ಪಾಸ್‌ವರ್ಡ್ പാസ്‌വേഡ് પાસવર્ડ ਪਾਸਵਰਡ รหัสผ่าน ລະຫັດຜ່ານ პაროლი գաղտնաբառ
lykilorð lykilorðið lykilorðinu ពាក្យសម្ងាត់ စကားဝှက်
"""
_SECRETS = """
密钥 密鑰 金鑰 秘钥 秘密鍵 シークレット 비밀키 비밀_키 секрет секретный_ключ секретний_ключ таємний_ключ
μυστικό_κλειδί מפתח_סודי المفتاح_السري مفتاح_سري کلید_مخفی गुप्त_कुंजी คีย์ลับ アクセスキー 액세스_키
"""
_TOKENS = """
令牌 權杖 トークン 토큰 токен διακριτικό_πρόσβασης אסימון טוקן رمز_الوصول رمز_الدخول توکن ٹوکن टोकन টোকেন டோக்கன்
టోకెన్ ಟೋಕನ್ ടോക്കൺ ટોકન ਟੋਕਨ โทเค็น โทเคน ტოკენი
"""
# Words for "key" and "access": with "API" or "secret", or with each other, they name one. Some are too short for that.
_KEYS = "ключ кључ клуч кілті κλειδί מפתח مفتاح کلید कुंजी விசை ਕੁੰਜੀ คีย์ กุญแจ გასაღები բանալի"
_ACCESSES = "доступ достъп πρόσβασης الوصول دسترسی"
_API_KEYS = "APIキー API_キー API鍵 API키 API_키 API_কী API_కీ API_ಕೀ API_കീ API_કી"
_CODES = """
验证码 校验码 驗證碼 认证码 動態密碼 認証コード 確認コード ワンタイムパスワード 인증번호 인증코드
пин-код ПИН-код PIN-код пинкод пін-код код_доступа код_домофона
код_подтверждения код_безопасности проверочный_код одноразовый_код
код_підтвердження код_за_потвърждение κωδικός_επαλήθευσης
κωδικός_επιβεβαίωσης رمز_التحقق رمز_التأكيد کد_تایید קוד_אימות रहस्य_कोड
सत्यापन_कोड รหัสยืนยัน mã_xác_minh mã_xác_thực
"""
# By length: a copy of the text keeps every position, so a name gives way to an ASCII one of its own length.
_KNOWN: Final = {
    "PASSWORD": ("pw", "pwd", "pass", "pass_", "passwd", "passwd_", "password"),
    "SECRET": ("pw", "pwd", "pass", "pass_", "secret", "secret_"),
    "TOKEN": ("pw", "jwt", "jwt_", "token", "token_"),
    "KEY": ("clau",),
    "ACCESS": ("access",),
    "API_KEY": ("dapi",),
    "OTP": ("otp",),
}
KNOWN_FORMS: Final = frozenset(word for words in _KNOWN.values() for word in words if "_" not in word)


def _forms() -> dict[str, str]:
    forms: dict[str, str] = {}
    for mark, names in (
        ("PASSWORD", _PASSWORDS), ("SECRET", _SECRETS), ("TOKEN", _TOKENS), ("KEY", _KEYS), ("ACCESS", _ACCESSES),
        ("API_KEY", _API_KEYS), ("OTP", _CODES),
    ):  # fmt: skip
        joined = names.replace("\u200c", "").split()
        for name in {name for word in joined for name in (word, word.replace("_", " "))}:
            known = max((word for word in _KNOWN[mark] if len(word) <= len(name)), key=len)
            # What is written as one word is a name of a program, in small letters.
            cases = (name,) if "_" in name else (name, name.capitalize(), name.upper())
            forms |= dict.fromkeys(cases, known.ljust(len(name), "_"))
    # The longest first, for some begin like others; some capitals, as in German, would change the length.
    return {
        form: known for form, known in sorted(forms.items(), key=lambda item: -len(item[0])) if len(form) == len(known)
    }


FORMS: Final = _forms()
"""Every form of every name, the longest first, with an ASCII one of the same length that is known."""


NUMBERS: Final = frozenset({int, float, bool, type(None)})  # what holds neither text nor other values
_JSON_KINDS = NUMBERS | {str, dict, list}
_CONTAINERS = (dict, list, tuple, set, frozenset)
# Python refuses to print whole numbers of more than 4,300 digits.
MOST_BITS = 10_000


def as_json(value: Any) -> Any:
    """Give a value that JSON knows, or a container, as it is, and anything else as text."""
    kind = type(value)
    if kind in _JSON_KINDS or issubclass(kind, (*_CONTAINERS, int, float)):
        return value
    return plain_text(value)


def items_of(value: Any) -> list[Any]:
    """List the items of a list, tuple or set as its base class gives them."""
    kind = type(value)
    if kind is list:
        return list(value)
    base: Any = next(base for base in (list, tuple, set, frozenset) if issubclass(kind, base))
    return list(base.__iter__(value))


def plain_text(value: Any) -> str:
    """Write a key or a value as text; what is neither text, bytes nor a number only by its class's name."""
    # By the methods of the base classes, here and above: a subclass may override its own with something that raises.
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    if issubclass(kind, int):
        number = int.__add__(value, 0)
        return str(number) if number.bit_length() < MOST_BITS else f"<{kind.__name__}>"
    if issubclass(kind, float):
        return float.__repr__(value)
    return f"<{kind.__name__}>"


MARK: Final = "[REDACTED: "
MARK_PATTERN: Final = re.compile(r"\[REDACTED: [A-Z0-9][A-Z0-9_]{1,30}\]")


def is_mark(text: str) -> bool:
    """Say whether the text is one redaction mark and nothing else."""
    return text.startswith(MARK) and bool(MARK_PATTERN.fullmatch(text))


def without_marks(text: str) -> str:
    """Leave out the redaction marks."""
    return MARK_PATTERN.sub("", text) if MARK in text else text


def strings_in(value: Any) -> Iterator[str]:
    """Give the strings of a JSON value and the names of its members, in no order."""
    pending, seen = [value], set[int]()
    while pending:
        item = pending.pop()
        kind = type(item)
        if issubclass(kind, str):
            yield item if kind is str else plain_text(item)
        elif issubclass(kind, (dict, list, tuple)) and id(item) not in seen:
            # Values of Python may hold themselves.
            seen.add(id(item))
            if issubclass(kind, dict):
                pending.extend(key for key in dict.keys(item) if issubclass(type(key), str))
                pending.extend(dict.values(item))
            else:
                items = item if kind is list else items_of(item)
                pending.extend(each for each in items if type(each) not in NUMBERS and (type(each) is not list or each))
