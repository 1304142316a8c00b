"""What languages with a script of their own call a secret; words in Latin letters stand in the table of names."""

from __future__ import annotations

from typing import Final

_PASSWORDS = """
密码 密碼 口令 暗証番号 合言葉 パスワード パスフレーズ パスコード 비밀번호 암호 패스워드
пароль пароля паролем парола лозинка шифра құпиясөз κωδικός κωδικος κωδικός_πρόσβασης συνθηματικό
סיסמה סיסמא הסיסמה كلمة_المرور كلمة_السر كلمة_مرور كلمه_المرور الرقم_السري رمز_عبور گذرواژه پاسورڈ پاس_ورڈ
पासवर्ड कूटशब्द পাসওয়ার্ড கடவுச்சொல் పాస్వర్డ్ ಪಾಸ್‌ವರ್ಡ್ പാസ്‌വേഡ് પાસવર્ડ ਪਾਸਵਰਡ รหัสผ่าน ລະຫັດຜ່ານ პაროლი գաղտնաբառ
ពាក្យសម្ងាត់ စကားဝှက်
"""
_SECRETS = "密钥 密鑰 秘密鍵 シークレット 비밀키 секрет секретный_ключ"
_TOKENS = "令牌 トークン 토큰 токен"
# By length: a copy of the text keeps every position, so a name gives way to an ASCII one of its own length.
_KNOWN: Final = {
    "PASSWORD": ("pw", "pwd", "pass", "pass_", "passwd", "passwd_", "password"),
    "SECRET": ("pw", "pwd", "pass", "pass_", "secret", "secret_"),
    "TOKEN": ("pw", "jwt", "jwt_", "token", "token_"),
}


def _forms() -> dict[str, str]:
    forms: dict[str, str] = {}
    for mark, names in (("PASSWORD", _PASSWORDS), ("SECRET", _SECRETS), ("TOKEN", _TOKENS)):
        for name in (word.replace("_", " ").replace("\u200c", "") for word in names.split()):
            known = max((word for word in _KNOWN[mark] if len(word) <= len(name)), key=len)
            forms |= dict.fromkeys((name, name.capitalize(), name.upper()), known.ljust(len(name), "_"))
    # The longest first, for some begin like others; some capitals, as in German, would change the length.
    return {
        form: known for form, known in sorted(forms.items(), key=lambda item: -len(item[0])) if len(form) == len(known)
    }


FORMS: Final = _forms()
"""Every form of every name, the longest first, with an ASCII one of the same length that is known."""
