from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrycontract.contract.advice.names import (
    MAX_COMPARED,
    MAX_LENGTH,
    MOST_SLIPS,
    did_you_mean,
    slips_between,
    unmistakable,
)


@pytest.mark.parametrize(
    ("value", "options", "meant"),
    [
        pytest.param("uft8", ["utf-8", "ascii", "utf-16"], "utf-8", id="swapped-letters"),
        pytest.param("UTF-8", ["utf-8", "ascii"], "utf-8", id="case"),
        pytest.param("user name", ["userName", "user"], "userName", id="space"),
        pytest.param("max_bytes", ["maxBytes"], "maxBytes", id="underscore-for-camel-case"),
        pytest.param("max-bytes", ["max_bytes"], "max_bytes", id="dash"),
        pytest.param("path", ["file_path", "mode"], "file_path", id="the-last-word"),
        pytest.param("file_path", ["path", "mode"], "path", id="one-word-too-many"),
        pytest.param("path", ["file_path", "dir_path"], None, id="the-last-word-of-two"),
        pytest.param("paths", ["path", "path_list", "file_paths"], "path", id="a-misspelling-of-several-with-the-word"),
        pytest.param("id", ["valid_id"], None, id="too-short-for-a-part"),
        pytest.param("north-america", ["AP", "BR", "EU", "NA"], None, id="nothing-near"),
        pytest.param("na", ["AP", "EU", "NA"], "NA", id="two-letters"),
        pytest.param("--", ["a", "b"], None, id="no-letters"),
        pytest.param("", ["a"], None, id="empty"),
        pytest.param(3, ["3"], None, id="no-text"),
        pytest.param("one", [1, None, "ones", ["one"]], "ones", id="options-of-other-types"),
        pytest.param("one", [], None, id="no-options"),
        pytest.param("x" * (MAX_LENGTH + 1), ["x" * (MAX_LENGTH + 1)], None, id="too-long-a-value"),
        pytest.param("x", ["x" * (MAX_LENGTH + 1)], None, id="too-long-an-option"),
        pytest.param("last", [f"{n:05}" for n in range(MAX_COMPARED)] + ["last"], None, id="too-many-options"),
        pytest.param("STRASSE", ["straße"], "straße", id="folded"),
    ],
)
def test_the_option_that_was_meant(value: object, options: list[object], meant: str | None) -> None:
    assert did_you_mean(value, options) == meant


@pytest.mark.parametrize(
    ("value", "option"),
    [
        ("Iraq", "Iran"), ("Australia", "Austria"), ("Slovenia", "Slovakia"), ("hypotension", "hypertension"),
        ("hydralazine", "hydroxyzine"), ("us-west-1", "us-east-1"), ("int8", "uint8"), ("gpt-4", "gpt-4o"),
        ("self", "sell"), ("unable", "enable"), ("read", "read-only"), ("inactive", "is_active"), ("height", "weight"),
        ("weight", "height"), ("altitude", "latitude"), ("send_at", "end_at"), ("new_amount", "net_amount"),
        ("data", "date"), ("date", "data"), ("clock", "lock"), ("post", "host"),
        ("ready", "read"), ("content", "context"),
        ("before_id", "before"), ("user_id", "user"), ("amount", "max_amount"),
        ("from", "form"), ("adopter", "adapter"),
        ("2024", "2025"), ("eu-west-2", "eu-west-3"), ("Dominica", "Dominican"), ("Niger", "Nigeria"), ("mole", "mode"),
        ("prednisone", "prednisolone"), ("chlorate", "chlorite"), ("phosphite", "phosphate"), ("contact", "contract"),
        ("poison", "poisson"), ("signed", "singed"), ("latter", "later"),
    ],
)  # fmt: skip
def test_another_word_is_no_slip(value: str, option: str) -> None:
    assert unmistakable(value, [option, "zzz"], of="") is None
    assert unmistakable(value, [option, "zzz"]) is None


@pytest.mark.parametrize(
    ("value", "option"),
    [
        ("Buisness", "business"), ("uft8", "utf-8"), ("econmy", "economy"), ("pasengers", "passengers"),
        ("raed", "read"),
        ("destinaton", "destination"), ("desination", "destination"), ("seperator", "separator"),
        ("recieve", "receive"),
        ("enviroment", "environment"), ("comitted", "committed"), ("adress", "address"), ("tag", "tags"),
        ("pth", "path"),
        ("langauge", "language"), ("notifcations_enabeld", "notifications_enabled"), ("orgin", "origin"),
        ("encodng", "encoding"), ("querry", "query"), ("Euro-Central", "euro_central"), ("cirle", "circle"),
        ("path", "file_path"), ("oder_id", "order_id"), ("custmer_name", "customer_name"),
    ],
)  # fmt: skip
def test_what_fingers_do_is_a_slip(value: str, option: str) -> None:
    assert unmistakable(value, [option, "zzz"], of="") == option


# A word more that negates, limits or changes what is done, or is simply of something else.
OTHER_FIELDS = """
    dry_run/run preview_send/send confirm_delete/delete simulate_payment/payment test_mode/mode delete/delete_all
    send/auto_send skip_validation/validation ignore_errors/errors soft_delete/delete hard_delete/delete mock_run/run
    draft_publish/publish force/force_push allow_overwrite/overwrite prevent_overwrite/overwrite backup_path/path
    require_approval/approval block_user/user exclude_archived/archived hidePrices/prices half_price/price
    total/subtotal cancel_order/order query/exclude_query tags/excludeTags users/banned_users ip/blocked_ip
    date/return_date
    message/error_message email/reply_email email/email_verified password/password_hint amount/refund_amount
    limit/rate_limit branch/delete_branch table/drop_table role/remove_role user/user_name key/key_name file/file_path
    address/email_address number/phone_number query/sql_query is_paid/needs_paid timeout/timeout_ms the_dry_run/run
"""


@pytest.mark.parametrize("pair", OTHER_FIELDS.split())
def test_a_word_more_makes_another_field(pair: str) -> None:
    one, other = pair.split("/")
    assert unmistakable(one, [other, "zzz"], of="") is None
    assert unmistakable(other, [one, "zzz"], of="/rules/0") is None


@pytest.mark.parametrize(
    ("value", "option", "of"),
    [
        ("file_path", "path", ""), ("email", "email_address", ""), ("phoneNumber", "phone", ""),
        ("my_tags", "tags", ""), ("limit", "limit_value", ""), ("start", "range_start", "/ranges/0"),
        ("user_name", "name", "/user"),
        ("tags", "exclude_tags", "/exclude"),
    ],
)  # fmt: skip
def test_a_word_that_says_nothing_is_forgiven_in_a_name(value: str, option: str, of: str) -> None:
    assert unmistakable(value, [option, "zzz"], of=of) == option
    assert unmistakable(option, [value, "zzz"], of=of) == value
    assert unmistakable(value, [option, "zzz"]) is None


@pytest.mark.parametrize("pair", ["SIGILL/SIGKILL", "EPIPE/ESPIPE", "unlocked/unblocked", "pp_AN/pap_AN"])
def test_a_consonant_more_makes_another_value_of_a_vocabulary(pair: str) -> None:
    one, other = pair.split("/")
    terms = ["amber", "beige", "coral", "denim", "ebony", "fawn", "green", "hazel", "ivory", "jade", "lilac", "mauve"]
    assert unmistakable(one, [other, *terms]) is None
    assert unmistakable(other, [one, *terms]) is None


@pytest.mark.parametrize(
    "pair",
    [
        "cirle/circle",
        "sqare/square",
        "markdon/markdown",
        "pendng/pending",
        "econmy/economy",
        "recieve/receive",
        "nroth/north",
    ],
)
def test_of_a_few_choices_a_letter_that_was_left_out_tells_which(pair: str) -> None:
    sent, meant = pair.split("/")
    assert unmistakable(sent, ["html", meant, "never"]) == meant


READS_AS_WELL = """
    inulin/insulin sliver/silver calm/clam bread/beard angel/angle board/broad tarp/trap grid/gird wader/wander
    oder/order capain/captain crane/carne perfer/prefer Sliver/silver sliver_plan/silver_plan
"""


@pytest.mark.parametrize("pair", READS_AS_WELL.split())
def test_a_choice_that_reads_as_a_word_of_its_own_is_taken_for_none(pair: str) -> None:
    one, other = pair.split("/")
    assert unmistakable(one, [other, "zzz"]) is None
    assert unmistakable(other, [one, "zzz"]) is None


def test_where_case_tells_values_apart_none_is_forgiven_for_its_case() -> None:
    assert unmistakable("Alpha", ["alpha", "Beta", "beta"]) is None
    assert unmistakable("Alpha", ["alpha", "beta"]) == "alpha"


def test_the_first_of_equally_near_options_is_taken() -> None:
    assert did_you_mean("user_id", ["userId", "UserID"]) == "userId"


@pytest.mark.parametrize(
    ("value", "option"),
    [
        ("vegetarian", "vegan"), ("unpaid", "paid"), ("inactive", "active"), ("disabled", "enabled"),
        ("male", "female"), ("republic", "public"), ("asc", "desc"), ("gte", "lte"), ("get", "set"),
        ("not_started", "started"), ("non-vegan", "vegan"), ("no cache", "cache"), ("username", "user"),
        ("minimum", "maximum"), ("min_price", "max_price"), ("maxPrice", "min_price"), ("include", "exclude"),
        ("import", "export"), ("increase", "decrease"), ("created_at", "updated_at"), ("ipv4", "ipv6"),
        ("utf-16", "utf-8"), ("python3.11", "python3.12"), ("article", "artifact"), ("carpet", "car"),
    ],
)  # fmt: skip
def test_another_word_is_not_taken_for_a_misspelling(value: str, option: str) -> None:
    assert did_you_mean(value, [option]) is None
    assert did_you_mean(option, [value]) is None


@pytest.mark.parametrize(
    ("value", "option"),
    [
        ("deplyo", "deploy"), ("saet", "seat"), ("busines", "business"), ("bussiness", "business"),
        ("econmy", "economy"),        ("pasengers", "passengers"), ("adress", "address"), ("recieve", "receive"),
        ("enviroment", "environment"),
        ("start_dat", "start_date"), ("maxbytes", "maxBytes"), ("colour", "color"), ("cancelled", "canceled"),
        ("deploy-tool", "deploy_tools"), ("Pfad", "pfad"), ("straße", "strase"), ("verzeichniss", "verzeichnis"),
        ("путь_файла", "путь_файл"),
    ],
)  # fmt: skip
def test_a_slip_is_forgiven(value: str, option: str) -> None:
    assert did_you_mean(value, ["something else", option]) == option


def slowly(one: str, other: str) -> int:
    """Count the slips in the plainest way: a letter left out, put in, exchanged, or two that changed places."""
    if not one or not other:
        return len(one) + len(other)
    ways = [slowly(one[1:], other) + 1, slowly(one, other[1:]) + 1, slowly(one[1:], other[1:]) + (one[0] != other[0])]
    if one[:2] == other[:2][::-1] and len(one[:2]) == 2:
        ways.append(slowly(one[2:], other[2:]) + 1)
    return min(ways)


@settings(deadline=None)
@given(st.text("abcde", max_size=7), st.text("abcde", max_size=7))
def test_slips_are_counted_as_they_are(value: str, option: str) -> None:
    counted = slips_between(value, option)
    assert counted == slips_between(option, value)
    assert counted is None or counted == slowly(value, option) <= MOST_SLIPS
