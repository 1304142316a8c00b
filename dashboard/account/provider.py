"""Log-in through an identity provider: OpenID Connect's code flow with PKCE, which authlib speaks."""

from __future__ import annotations

import logging
import re
import threading
from functools import lru_cache
from time import monotonic
from typing import Any, Final, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.views import LogoutView
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.account.exchanges import RETRY_SECONDS, AwayError, NoPlaceError, ProviderError, exchange
from dashboard.account.login import begin_session, ways_in
from retrycontract.config.outside_settings import LoginSettings
from retrycontract.store.models import Door
from retrycontract.usecases.people.admit import NotAdmittedError, admit_by_provider

logger = logging.getLogger("retrycontract.logins")

BY_PROVIDER: Final = "by_provider"
CONNECTS: Final = "provider_connects"
NEXT: Final = "provider_next"
SKEW_SECONDS: Final = 120  # clocks of two machines differ; a token is refused beyond that
UNDERWAY_SECONDS: Final = 600  # how long somebody may take at the provider
# What a provider's public keys can verify. HS256 would take the client's secret for a key, `none` nothing at all.
ALGORITHMS: Final = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
)
SIGNED: Final = "id_token_signing_alg_values_supported"
CHALLENGES: Final = "code_challenge_methods_supported"
UNREACHABLE: Final = "The identity provider does not answer as it should. Try again in a while."
BUSY: Final = "Others wait for the identity provider’s answer just now. Load this page again in some seconds."
REFUSED: Final = "The identity provider’s answer was not accepted. Try once more; if it stays so, ask an administrator."


def client(service: LoginSettings) -> Any:
    """Give authlib's client of the provider; what it read of the provider's addresses and keys is kept."""
    return _registered(
        service.oidc_issuer, service.oidc_client_id, service.oidc_client_secret, " ".join(service.oidc_scopes)
    )


@lru_cache(maxsize=4)
def _registered(issuer: str, client_id: str, secret: str, scopes: str) -> Any:
    from authlib.integrations.django_client import OAuth  # 0.2 s, and only where it is needed

    from dashboard.account.provider_session import BoundedApp

    return OAuth().register(
        "provider",
        client_cls=BoundedApp,
        client_id=client_id,
        client_secret=secret or None,
        server_metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": scopes,
            "code_challenge_method": "S256",
            **({} if secret else {"token_endpoint_auth_method": "none"}),
        },
    )


_reading = threading.Lock()
_failures: dict[str, tuple[float, str]] = {}  # by issuer: until when, and what failed


def metadata(service: LoginSettings) -> dict[str, Any]:
    """Read what the provider says of itself; raises AwayError when it is somebody else's or not answered.

    One asks at a time, and those who waited learn what it learned. A failure holds for some seconds, so that visitors
    who are nobody yet cannot have it asked for all the time.
    """
    with _reading:
        until, why = _failures.get(service.oidc_issuer, (0.0, ""))
        if monotonic() < until:
            raise AwayError(why)
        try:
            return _read(service)
        except AwayError as error:
            _registered.cache_clear()  # else a wrong one would be kept
            _failures[service.oidc_issuer] = monotonic() + RETRY_SECONDS, str(error)
            raise


def _read(service: LoginSettings) -> dict[str, Any]:
    told: dict[str, Any] = client(service).load_server_metadata()
    told[SIGNED] = told.get(SIGNED) or ["RS256"]
    if told.get("issuer") != service.oidc_issuer:
        raise AwayError("its configuration names another issuer")
    if not all(isinstance(told.get(name) or [], list) for name in (SIGNED, CHALLENGES)):
        raise AwayError("its configuration has no lists")
    # authlib takes the algorithms that it accepts from this very dict.
    told[SIGNED] = sorted(name for name in ALGORITHMS if name in told[SIGNED])
    return told


def connect_token(request: HttpRequest) -> str:
    """Make what a link of our own page holds, so that no other site can have an account connected."""
    return salted_hmac("connect", request.session.session_key or "").hexdigest()


@login_not_required
@require_safe
@never_cache
def begin(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider; by a link of the settings, to connect who is logged in already."""
    service = _service()
    connects = request.user.is_authenticated
    if connects and not constant_time_compare(request.GET.get("connect", ""), connect_token(request)):
        return redirect("dashboard:inbox")
    try:
        with exchange():
            metadata(service)
            answer = client(service).authorize_redirect(request, _address(request, "dashboard:provider_answer"))
    except AwayError as error:
        return _ask_again(request, error)
    except (ValueError, RuntimeError) as error:  # its configuration holds no address, or one that is none
        return _ask_again(request, AwayError(type(error).__name__))
    target = request.GET.get("next", "")
    request.session[NEXT] = target if url_has_allowed_host_and_scheme(target, {request.get_host()}) else ""
    request.session[CONNECTS] = connects
    if not connects:
        request.session.set_expiry(UNDERWAY_SECONDS)  # a row that nobody comes back for is soon forgotten
    return cast(HttpResponse, answer)


@login_not_required
@require_safe
@never_cache
def answer(request: HttpRequest) -> HttpResponse:
    """Take the provider's answer: log in who it names, or connect them with who is logged in."""
    service = _service()
    if request.user.is_authenticated and not request.session.get(CONNECTS, False):
        # Another tab was quicker, or the address is loaded again: nothing is taken from this answer.
        return redirect("dashboard:inbox")
    if code := request.GET.get("error"):
        cancelled = f"You cancelled the log-in at {service.oidc_name}, or it does not let you in here."
        why = ProviderError(f"the provider sent {_known(code)} back")
        return _refuse(request, why, cancelled if code == "access_denied" else REFUSED)
    try:
        with exchange():
            claims = _claims(request, service)
    except AwayError as error:
        return _ask_again(request, error)
    except ProviderError as error:
        return _refuse(request, error, REFUSED)
    target, connects = request.session.pop(NEXT, ""), request.session.pop(CONNECTS, False)
    if connects != request.user.is_authenticated:  # logged out, or in, in another tab meanwhile
        return _refuse(request, ProviderError("the session has changed"), REFUSED)
    known = cast(User, request.user) if connects else None
    try:
        operator = admit_by_provider(claims, service, known, now=timezone.now(), door=Door.DASHBOARD)
    except NotAdmittedError as error:
        return _refuse(request, error, str(error))
    except ValidationError as error:
        return _refuse(request, ProviderError("a claim cannot be shown"), " ".join(error.messages))
    # The short time was for the way to the provider and back.
    request.session.set_expiry(None)
    login(request, operator, backend="django.contrib.auth.backends.ModelBackend")
    begin_session(request)
    request.session[BY_PROVIDER] = True
    return redirect(target or ("dashboard:settings" if connects else "dashboard:inbox"))


def _claims(request: HttpRequest, service: LoginSettings) -> dict[str, Any]:
    """Trade the code for a token and check it; what the token leaves out is asked for."""
    from authlib.common.errors import AuthlibBaseError
    from joserfc.errors import JoseError

    told = metadata(service)
    # RFC 9207: an answer that says who gives it must be of the provider that was asked.
    if request.GET.get("iss", service.oidc_issuer) != service.oidc_issuer:
        raise ProviderError("the answer is of another issuer")
    expected = {
        "iss": {"essential": True, "values": [service.oidc_issuer]},
        "aud": {"essential": True, "values": [service.oidc_client_id]},
    }
    try:
        token = client(service).authorize_access_token(request, claims_options=expected, leeway=SKEW_SECONDS)
        claims = dict(token.get("userinfo") or {})
        wanted = {service.oidc_name_claim, service.oidc_groups_claim, "email"} - claims.keys()
        if claims and wanted and told.get("userinfo_endpoint"):
            more = dict(client(service).userinfo(token=token))
            # OpenID Connect Core, 5.3.2: else one person's token could be joined with another's claims.
            if more.get("sub") != claims.get("sub"):
                raise ProviderError("the claims are of somebody else")
            # What the signed token says wins over what was asked for afterwards.
            claims = more | claims
    except (AuthlibBaseError, JoseError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise ProviderError(_reason(error)) from None
    if not claims.get("sub"):
        raise ProviderError("there is no ID token")
    return claims


def _reason(error: Exception) -> str:
    """Say what was wrong as an administrator can look for it, by names that the protocol knows alone."""
    from authlib.integrations.base_client import MismatchingStateError, OAuthError
    from joserfc.errors import JoseError

    code = _known(str(getattr(error, "error", "")))
    if claim := getattr(error, "claim", ""):
        return f"the ID token’s claim {claim} is not accepted ({code})"
    if isinstance(error, MismatchingStateError):
        return f"this browser began no such log-in, or has ended it already ({code})"
    if isinstance(error, OAuthError):
        return f"its token endpoint answered {code}"
    return f"its ID token or keys are not accepted ({code if isinstance(error, JoseError) else type(error).__name__})"


def _known(code: str) -> str:
    """Give an error's name if it has the form of the protocol's; words that somebody chose are not repeated."""
    return code if re.fullmatch("[a-z_]{1,60}", code) else "an error without a known name"


@login_not_required
@require_safe
@never_cache
def leave(request: HttpRequest) -> HttpResponse:
    """Send who has logged out here to the provider, to log out there as well."""
    service = _service()
    try:
        with exchange():
            leads = metadata(service).get("end_session_endpoint")
    except AwayError as error:
        return _ask_again(request, error)
    if leads:
        back = _address(request, "dashboard:login")
        asked = {"post_logout_redirect_uri": back, "client_id": service.oidc_client_id}
        return HttpResponseRedirect(client(service).create_logout_url(**asked)["url"])
    return redirect("dashboard:login")


class Logout(LogoutView):
    """Log out; who came through the provider is offered to log out there, too."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Note where they came from before the session goes."""
        # Before the logout, which empties the session.
        came_by_provider = request.session.get(BY_PROVIDER, False)
        response = super().post(request, *args, **kwargs)
        return redirect(f"{reverse('dashboard:login')}?left=1") if came_by_provider else response


def _service() -> LoginSettings:
    service = cast(LoginSettings, settings.RETRYCONTRACT)
    if not service.oidc_issuer:
        raise Http404
    return service


def _address(request: HttpRequest, route: str) -> str:
    """Give a page's address as the provider knows it; a proxy may have changed what the request says."""
    base = settings.RETRYCONTRACT.public_url
    return f"{base}{reverse(route)}" if base else request.build_absolute_uri(reverse(route))


def _ask_again(request: HttpRequest, why: AwayError) -> HttpResponse:
    """Say that the provider could not be asked, and when it may be; the address stays, for loading it again goes on."""
    _log(why)
    said = BUSY if isinstance(why, NoPlaceError) else UNREACHABLE
    page = render(request, "account/login.html", {"provider_said": said} | ways_in(), status=503)
    page["Retry-After"] = str(RETRY_SECONDS)
    return page


def _refuse(request: HttpRequest, why: Exception, said: str) -> HttpResponse:
    """Say that somebody is not let in, or not connected, at an address that has nothing of the provider's answer."""
    _log(why)
    messages.warning(request, said)
    return redirect("dashboard:settings" if request.user.is_authenticated else "dashboard:login")


def _log(why: Exception) -> None:
    logger.warning("Log-in through the provider failed", extra={"reason": str(why)})
