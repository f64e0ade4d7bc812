"""The door that every endpoint shares, through the whole Django stack: identity, bodies, preconditions, refusals.

The rows of bad input run through a plain view and through a DRF view, since both must refuse alike.
"""

import json
import re
from typing import Any

import pytest
import redis
from django.conf import settings
from django.test import Client
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from runs import administration
from runs.digest import tagged
from tests import cast
from tests.console.api.door_urls import DIGITS, LETTERS

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.console.api.door_urls")]

DOORS = ["/api/v1/plain/", "/api/v1/rest/"]
BODY = {"id": "c-1", "name": "tag", "params": {"tag": "vip"}, "reason": "Asked for by the customer."}
TAG = '"3.7"'
HASH = tagged(b"")


@pytest.fixture
def agent() -> Client:
    return Client(headers={"Authorization": f"Bearer {cast.agent().token}"}, raise_request_exception=False)


def send(client: Client, door: str, content: Any = BODY, **headers: str) -> Any:
    """Post a body; bytes go as they are."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    given = {
        "Content-Type": "application/json",
        "If-Match": TAG,
        **{n.replace("_", "-"): v for n, v in headers.items()},
    }
    content_type = given.pop("Content-Type")
    return client.post(door, raw, content_type=content_type, headers=given)


def assert_problem(response: Any, status: int, code: str) -> dict[str, Any]:
    """The answer is this problem, told completely; gives its body."""
    assert response.headers["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = json.loads(response.content)
    assert (response.status_code, problem["code"]) == (status, code)
    assert problem["status"] == status
    assert problem["type"] == f"/problems/{code}"
    assert problem["title"]
    assert problem["detail"]
    assert problem["correlation_id"] == response.headers["X-Correlation-Id"]
    return problem


def pointers(problem: dict[str, Any]) -> list[str]:
    return [error["pointer"] for error in problem["errors"]]


# ---- what enters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
def test_a_good_request_enters_with_its_principal_and_its_version(agent: Client, door: str) -> None:
    response = send(agent, door)

    assert response.status_code == 201
    assert response.headers["ETag"] == '"3.8"'
    assert json.loads(response.content) == {
        "by": "agent:classifier",
        "id": "c-1",
        "params": {"tag": "vip"},
        "expected": 7,
    }


@pytest.mark.parametrize("door", DOORS)
def test_a_tag_of_another_ledger_epoch_compares_with_nothing(agent: Client, door: str) -> None:
    response = send(agent, door, If_Match='"2.7"')

    assert json.loads(response.content)["expected"] == 0


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "type_", ["application/json; charset=utf-8", 'application/json;charset="UTF-8"', "Application/JSON"]
)
def test_json_may_be_announced_with_its_charset(agent: Client, door: str, type_: str) -> None:
    assert send(agent, door, Content_Type=type_).status_code == 201


@pytest.mark.parametrize("door", DOORS)
def test_numbers_and_accents_stay_what_they_are(agent: Client, door: str) -> None:
    sent = {"a": 1.5, "composed": "\u00e9", "decomposed": "e\u0301"}

    response = send(agent, door, body(params=sent))

    assert json.loads(response.content)["params"] == sent


# ---- bodies that do not ----------------------------------------------------------------------------------


def body(**members: Any) -> bytes:
    return json.dumps({**BODY, **members}).encode()


def params(raw: bytes) -> bytes:
    return b'{"id": "c-1", "name": "tag", "reason": "r", "params": ' + raw + b"}"


#: Row of the table of bad input, what is sent, and the status, code and pointer of the refusal.
ROWS_OF_BAD_INPUT = [
    ("B01-nan", params(b'{"a": NaN}'), 400, "malformed", "/params/a"),
    ("B01-infinity", params(b'{"a": -Infinity}'), 400, "malformed", "/params/a"),
    ("B02", params(b'{"a": [1e400]}'), 400, "malformed", "/params/a/0"),
    ("B03-value", params(b'{"a": "\\u0000"}'), 422, "invalid-params", "/params/a"),
    ("B03-name", params(b'{"\\u0000": 1}'), 422, "invalid-params", "/params"),
    ("B04", params(b'{"a": "\\ud800"}'), 422, "invalid-params", "/params/a"),
    ("B05-thousands", params(b"[" * 6000 + b"]" * 6000), 400, "malformed", ""),
    ("B05-33", params(b'{"a":' * 32 + b"1" + b"}" * 32), 400, "malformed", "/params" + "/a" * 31),
    ("B06", params(b'{"a": ' + b"7" * 5000 + b"}"), 400, "malformed", "/params/a"),
    ("B07", params(b'{"a": 9007199254740993}'), 422, "invalid-params", "/params/a"),
    ("B08", params(b'{"a": 1, "a": 1000}'), 400, "malformed", "/params/a"),
    ("B09", body(status="approved"), 400, "malformed", "/status"),
    ("B09-identity", body(actor="user:mara"), 400, "malformed", "/actor"),
    ("B12-text", body(run_version="7"), 422, "invalid-params", "/run_version"),
    ("B12-float", body(run_version=7.0), 422, "invalid-params", "/run_version"),
    ("B12-wide-digit", body(run_version="７"), 422, "invalid-params", "/run_version"),
    ("B12-true", body(run_version=True), 422, "invalid-params", "/run_version"),
    ("B12-id", body(id=7), 400, "malformed", "/id"),
    ("B13-empty", b"", 400, "malformed", ""),
    ("B13-null", b"null", 400, "malformed", ""),
    ("B13-list", b"[]", 400, "malformed", ""),
    ("B13-text", b'"x"', 400, "malformed", ""),
    ("B14-bytes", b'{"a": "\xff"}', 400, "malformed", ""),
    ("B14-bom", b"\xef\xbb\xbf{}", 400, "malformed", ""),
    ("B14-utf-16", "{}".encode("utf-16"), 400, "malformed", ""),
    ("B22", body(expected_version=6), 400, "malformed", "/expected_version"),
    ("B23-empty", body(id=""), 400, "malformed", "/id"),
    ("B23-long", body(id="x" * 10_000), 400, "malformed", "/id"),
    ("B23-control", body(id="a\tb"), 400, "malformed", "/id"),
    ("B23-space", body(id="a b"), 400, "malformed", "/id"),
    ("B23-accent", body(id="é"), 400, "malformed", "/id"),
    ("B28-upper", body(manifest_sha256=HASH.upper()), 400, "malformed", "/manifest_sha256"),
    ("B28-twice", body(manifest_sha256=f"sha256:{HASH}"), 400, "malformed", "/manifest_sha256"),
    ("B28-short", body(manifest_sha256=HASH[:-1]), 400, "malformed", "/manifest_sha256"),
    ("B44-blank", body(reason=" \t\u200b\n"), 422, "invalid-params", "/reason"),
    ("B44-long", body(reason="x" * 4001), 422, "invalid-params", "/reason"),
    ("S17", body(reason="AKIAABCDEFGHIJKLMNOP"), 422, "secret-in-body", "/reason"),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("raw", "status", "code", "where"), [pytest.param(*row[1:], id=row[0]) for row in ROWS_OF_BAD_INPUT]
)
def test_bad_bodies_are_refused_alike_at_both_doors(
    agent: Client, door: str, raw: bytes, status: int, code: str, where: str
) -> None:
    problem = assert_problem(send(agent, door, raw), status, code)

    assert pointers(problem) == [where]


@pytest.mark.parametrize("door", DOORS)
def test_all_faults_of_a_body_are_told_at_once(agent: Client, door: str) -> None:
    faulty = {"id": "c-1", "params": [], "reason": "", "evidence": ["m4", 5, " "]}

    problem = assert_problem(send(agent, door, faulty), 422, "invalid-params")

    assert {(error["pointer"], error["code"]) for error in problem["errors"]} == {
        ("/name", "missing"),
        ("/params", "type"),
        ("/reason", "blank"),
        ("/evidence/1", "type"),
        ("/evidence/2", "blank"),
    }


@pytest.mark.parametrize("door", DOORS)
def test_a_refusal_never_repeats_the_secret(agent: Client, door: str) -> None:
    response = send(agent, door, {**BODY, "params": {"AKIAABCDEFGHIJKLMNOP": ["AKIAABCDEFGHIJKLMNOP"]}})

    assert_problem(response, 422, "secret-in-body")
    assert b"AKIA" not in response.content


@pytest.mark.parametrize("door", DOORS)
def test_a_body_over_one_mebibyte_is_too_large(agent: Client, door: str) -> None:
    assert_problem(send(agent, door, body(params={"a": "x" * 1024 * 1024})), 413, "too-large")


def test_no_endpoint_of_the_api_reads_more_than_an_artifact_may_hold(agent: Client) -> None:
    with capture_logs() as lines:
        response = send(agent, "/api/v1/parsed/", b"x" * (16 * 1024 * 1024 + 1))

    assert_problem(response, 413, "too-large")
    assert [line["code"] for line in lines if line["event"] == "turned_away"] == ["too-large"]


def test_an_endpoint_may_take_more_than_one_mebibyte(agent: Client) -> None:
    large = {"content": "x" * 2 * 1024 * 1024}

    assert send(agent, "/api/v1/parsed/", large).status_code == 200


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "type_",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "application/json, text/plain",
        "application/problem+json",
        "text/json",
    ],
)
def test_what_is_not_announced_as_json_is_not_read(agent: Client, door: str, type_: str) -> None:
    assert_problem(send(agent, door, Content_Type=type_), 415, "unsupported-media-type")


@pytest.mark.parametrize("door", DOORS)
def test_a_compressed_body_is_not_read(agent: Client, door: str) -> None:
    assert_problem(send(agent, door, Content_Encoding="gzip"), 415, "unsupported-media-type")


def test_drfs_own_way_to_the_body_is_as_strict(agent: Client) -> None:
    assert send(agent, "/api/v1/parsed/", {"b": 1, "a": 2}).content == b'{"read":["a","b"]}'
    assert_problem(send(agent, "/api/v1/parsed/", b'{"a": 1, "a": 2}'), 400, "malformed")
    assert_problem(send(agent, "/api/v1/parsed/", Content_Type="text/plain"), 415, "unsupported-media-type")


# ---- preconditions and repeats ---------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("header", "status", "code"),
    [
        pytest.param("*", 400, "malformed-precondition", id="B18"),
        pytest.param("v6", 400, "malformed-precondition", id="B19-unquoted"),
        pytest.param('"3.6', 400, "malformed-precondition", id="B19-unclosed"),
        pytest.param("", 400, "malformed-precondition", id="B19-empty"),
        pytest.param('W/"3.7"', 412, "weak-precondition", id="B20"),
        pytest.param('"3.6", "3.7"', 400, "malformed-precondition", id="B21"),
    ],
)
def test_a_precondition_is_never_guessed(agent: Client, door: str, header: str, status: int, code: str) -> None:
    assert_problem(send(agent, door, If_Match=header), status, code)


@pytest.mark.parametrize("door", DOORS)
def test_a_change_without_precondition_is_refused(agent: Client, door: str) -> None:
    response = agent.post(door, json.dumps(BODY), content_type="application/json")

    assert_problem(response, 428, "precondition-required")


@pytest.mark.parametrize("door", DOORS)
def test_an_idempotency_key_must_equal_the_id(agent: Client, door: str) -> None:
    assert send(agent, door, Idempotency_Key="c-1").status_code == 201
    for other in ("c-2", "", "x" * 10_000):
        problem = assert_problem(send(agent, door, Idempotency_Key=other), 400, "malformed")
        assert pointers(problem) == ["/id"]


def test_a_reader_who_has_the_version_gets_no_body(agent: Client) -> None:
    first = agent.get("/api/v1/rest/")
    again = agent.get("/api/v1/rest/", headers={"If-None-Match": f'"1.1", W/{first.headers["ETag"]}'})
    other = agent.get("/api/v1/rest/", headers={"If-None-Match": '"3.7"'})

    assert (first.status_code, again.status_code, other.status_code) == (200, 304, 200)
    assert again.content == b""
    assert again.headers["ETag"] == first.headers["ETag"] == '"3.8"'


# ---- who asks --------------------------------------------------------------------------------------------


@pytest.fixture
def signed_in() -> Client:
    """Ada, signed in, checked like any browser."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    cast.ada()
    assert client.login(username="ada", password=cast.PASSWORD)
    return client


def csrf_token(client: Client) -> str:
    token: str = client.get("/api/v1/session/").json()["csrf_token"]
    return token


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "header",
    [None, "Bearer", "Bearer x", "Bearer clr_unknown", "Bearer clr_a clr_b", "Bearer clr_é", "clr_x", "Basic dXNlcjpw"],
)
def test_without_a_valid_credential_nobody_enters(door: str, header: str | None) -> None:
    client = Client(headers={"Authorization": header} if header else {})

    response = send(client, door, b"not even json")

    assert_problem(response, 401, "unauthenticated")
    assert response.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("door", DOORS)
def test_a_suspended_agent_is_told_so(agent: Client, door: str) -> None:
    administration.set_agent_active("classifier", False, cast.SETUP)

    assert_problem(send(agent, door), 403, "authority-revoked")


@pytest.mark.parametrize("door", DOORS)
def test_two_credentials_at_once_are_refused(agent: Client, door: str) -> None:
    agent.cookies[settings.SESSION_COOKIE_NAME] = "whatever"

    assert_problem(send(agent, door), 400, "malformed")


@pytest.mark.parametrize("door", DOORS)
def test_a_person_enters_with_session_and_csrf_header(signed_in: Client, door: str) -> None:
    refused = send(signed_in, door)
    entered = send(signed_in, door, X_CSRFToken=csrf_token(signed_in))

    assert_problem(refused, 403, "forbidden")
    assert json.loads(entered.content)["by"] == "user:ada"


def test_a_person_reads_without_csrf_header(signed_in: Client) -> None:
    assert signed_in.get("/api/v1/rest/").status_code == 200


@pytest.mark.parametrize("door", DOORS)
def test_a_form_of_another_site_does_not_enter(signed_in: Client, door: str) -> None:
    response = send(signed_in, door, X_CSRFToken=csrf_token(signed_in), Origin="https://elsewhere.example")

    assert_problem(response, 403, "forbidden")


@pytest.mark.parametrize("door", DOORS)
def test_a_token_in_a_form_field_is_no_csrf_header(signed_in: Client, door: str) -> None:
    form = f"csrfmiddlewaretoken={csrf_token(signed_in)}".encode()

    response = send(signed_in, door, form, Content_Type="application/x-www-form-urlencoded")

    assert response.status_code in (403, 415)
    assert response.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("door", DOORS)
def test_more_requests_than_the_limit_are_put_off(agent: Client, door: str, settings: Any) -> None:
    settings.API_LIMITS = {"agent": (1, 2)}
    with redis.Redis.from_url(settings.REDIS_URL) as broker:
        broker.delete("limit:agent:classifier")

    first, second, third = (send(agent, door) for _ in range(3))

    assert (first.status_code, second.status_code) == (201, 201)
    assert_problem(third, 429, "rate-limited")
    assert 1 <= int(third.headers["Retry-After"]) <= 60


# ---- lists -----------------------------------------------------------------------------------------------


def test_a_list_is_read_page_by_page(agent: Client) -> None:
    shown, query = [], {"limit": "2"}
    while query:
        answer = json.loads(agent.get("/api/v1/letters/", query).content)
        shown.append(answer["items"])
        query = {"limit": "2", "cursor": answer["next"]} if answer["next"] else {}

    assert shown == [["a", "b"], ["c", "d"], ["e"]]


@pytest.mark.parametrize(
    ("query", "status", "code", "where"),
    [
        ({"limit": "ten"}, 400, "malformed", "/limit"),
        ({"limit": "-1"}, 400, "malformed", "/limit"),
        ({"limit": "٣"}, 400, "malformed", "/limit"),
        ({"limit": "0"}, 422, "invalid-params", "/limit"),
        ({"limit": "201"}, 422, "invalid-params", "/limit"),
        ({"limit": "999999999"}, 422, "invalid-params", "/limit"),
        ({"cursor": "WyJhIiwwXQ"}, 400, "malformed", "/cursor"),
        ({"cursor": "é"}, 400, "malformed", "/cursor"),
        ({"limit": ["1", "2"]}, 400, "malformed", "/limit"),
        ({"owner__password": "x"}, 400, "malformed", ""),
        ({"page_size": "1000000000"}, 400, "malformed", ""),
    ],
)
def test_lists_refuse_what_they_do_not_offer(
    agent: Client, query: dict[str, Any], status: int, code: str, where: str
) -> None:
    problem = assert_problem(agent.get("/api/v1/letters/", query), status, code)

    assert pointers(problem) == [where]


def test_a_cursor_of_another_list_is_refused(agent: Client) -> None:
    assert agent.get("/api/v1/letters/", {"cursor": LETTERS.write("b", 1)}).status_code == 200
    assert_problem(agent.get("/api/v1/letters/", {"cursor": DIGITS.write("b", 1)}), 400, "malformed")


@pytest.mark.parametrize("key", ["9223372036854775808", "1" + "0" * 22, "-1", "٣", "R-42%2F..", "%00", "x" * 5000])
def test_an_id_that_names_nothing_is_not_found(agent: Client, key: str) -> None:
    assert_problem(agent.get(f"/api/v1/runs/{key}/"), 404, "not-found")


def test_a_nul_in_a_query_is_refused_before_anybody_looks_for_it(agent: Client) -> None:
    assert_problem(agent.get("/api/v1/letters/?case=%00"), 400, "malformed")


# ---- failures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "status", "code"),
    [
        ("busy", 503, "unavailable"),
        ("locked", 503, "unavailable"),
        ("bug", 500, "unexpected"),
        ("denied", 403, "forbidden"),
        ("absent", 404, "not-found"),
        ("suspicious", 400, "malformed"),
        ("huge", 413, "too-large"),
        ("decided", 409, "already-decided"),
    ],
)
def test_whatever_fails_is_told_as_a_problem_without_internal_words(
    agent: Client, how: str, status: int, code: str
) -> None:
    response = agent.get(f"/api/v1/failing/{how}/")

    assert_problem(response, status, code)
    for internal in (b"SELECT", b"10.0.0.7", b"internal words", b"canceling", b"Traceback", b"Error"):
        assert internal not in response.content


def test_an_unavailable_database_asks_to_try_again_and_is_logged(agent: Client) -> None:
    with capture_logs() as lines:
        response = agent.get("/api/v1/failing/busy/")

    assert response.headers["Retry-After"] == "1"
    assert "same id" in json.loads(response.content)["detail"]
    assert [line["cause"] for line in lines if line["event"] == "unavailable"] == ["OperationalError"]


def test_a_problem_carries_the_facts_that_differ_and_when_to_ask_again(agent: Client) -> None:
    response = agent.get("/api/v1/failing/held/")

    problem = assert_problem(response, 409, "lease-held")
    assert (problem["expected"], problem["actual"]) == (3, 4)
    assert "retry_after" not in problem
    assert response.headers["Retry-After"] == "13"


def test_a_recorded_conflict_brings_its_own_words_but_not_its_own_status(agent: Client) -> None:
    problem = assert_problem(agent.get("/api/v1/failing/moved/"), 412, "version-conflict")

    assert problem["detail"] == "Mara changed it."
    assert problem["current_version"] == 21


def test_times_amounts_and_sets_have_one_form(agent: Client) -> None:
    problem = assert_problem(agent.get("/api/v1/failing/rich/"), 404, "not-found")

    assert problem["at"] == "2026-11-30T00:00:00.000000Z"
    assert (problem["sum"], problem["ids"]) == ("30.00", ["a", "b"])


def test_an_address_that_does_not_exist_is_a_problem_too() -> None:
    assert_problem(Client().get("/api/v1/nowhere/"), 404, "not-found")
    assert_problem(Client().get("/api/"), 404, "not-found")


@pytest.mark.parametrize("door", DOORS)
def test_a_method_that_is_not_offered_is_a_problem_that_names_those_that_are(agent: Client, door: str) -> None:
    response = agent.delete(door)

    assert_problem(response, 405, "method-not-allowed")
    assert "POST" in response.headers["Allow"]


def test_a_host_that_is_not_ours_is_a_problem(agent: Client) -> None:
    assert_problem(agent.get("/api/v1/rest/", headers={"Host": "evil.example"}), 400, "malformed")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*;q=0.1", "nonsense"])
def test_json_is_answered_whatever_is_accepted(agent: Client, accept: str) -> None:
    assert agent.get("/api/v1/rest/", headers={"Accept": accept}).status_code == 200
    assert_problem(agent.get("/api/v1/failing/decided/", headers={"Accept": accept}), 409, "already-decided")


# ---- headers of every answer -----------------------------------------------------------------------------

ADDRESSES = ["/api/v1/rest/", "/api/v1/failing/bug/", "/api/v1/nowhere/", "/failing/bug/", "/nowhere/", "/problems/"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_carries_the_id_that_the_caller_gave(agent: Client, address: str) -> None:
    response = agent.get(address, headers={"X-Correlation-Id": "trace-42:a.b_c"})

    assert response.headers["X-Correlation-Id"] == "trace-42:a.b_c"


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "<script>", "ünï"])
def test_a_strange_id_is_replaced_by_a_new_one(agent: Client, address: str, given: str) -> None:
    response = agent.get(address, headers={"X-Correlation-Id": given})

    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", response.headers["X-Correlation-Id"]
    )


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_answer_is_kept_or_sniffed_or_tells_where_it_was_asked_from(agent: Client, address: str) -> None:
    headers = agent.get(address).headers

    assert "no-store" in headers["Cache-Control"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_versioned_answers_are_never_compressed(agent: Client) -> None:
    response = agent.get("/api/v1/rest/", headers={"Accept-Encoding": "gzip, br"})

    assert "Content-Encoding" not in response.headers
    assert "no-transform" in response.headers["Cache-Control"]
    assert not response.headers["ETag"].startswith("W/")


def test_the_id_is_in_the_log_of_what_failed(agent: Client) -> None:
    with capture_logs(processors=[merge_contextvars]) as lines:
        agent.get("/api/v1/failing/busy/", headers={"X-Correlation-Id": "trace-42"})

    bound = [line for line in lines if line["event"] == "unavailable"]
    assert [(line["correlation_id"], line["actor"]) for line in bound] == [("trace-42", "agent:classifier")]
