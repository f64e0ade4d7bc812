"""Shapes of secrets: what is one, and what only looks a little like one."""

import base64
import time

import pytest

from runs.secrets import secret_shape

# The examples are put together from pieces, so that no scanner of repositories takes them for real.
WORD = "Ab3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA3bC6dE9f"

SECRETS = {
    "private key": ["-----BEGIN " + "PRIVATE KEY-----", "x\n-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3Bl"],
    "AWS access key": ["AKIA" + "ABCDEFGHIJKLMNOP", "key=ASIA" + "ABCDEFGHIJKLMN23."],
    "AWS secret key": [
        "aws_secret_access_key = " + WORD,
        'SECRET_ACCESS_KEY: "' + WORD + '"',
        "secretAccessKey=" + WORD,
    ],
    "Azure storage key": ["DefaultEndpointsProtocol=https;AccountKey=" + WORD],
    "GitHub token": [kind + WORD[:36] for kind in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")]
    + ["github_pat_" + WORD + WORD[:30]],
    "GitLab token": ["glpat-" + WORD[:20]],
    "Slack token": ["xoxb-" + "123456789012-" + WORD[:12], "xapp-" + "1-A012345678-" + WORD[:12]],
    "Slack webhook address": ["https://hooks.slack.com/services/" + "T01234567/B01234567/" + WORD[:24]],
    "Stripe key": ["sk_live_" + WORD[:24], "rk_test_" + WORD[:24]],
    "webhook signing secret": ["whsec_" + WORD[:32]],
    "Google API key": ["AIza" + WORD[:35], "?key=AIza" + WORD[:35] + "&x=1"],
    "Google client secret": ["GOCSPX-" + WORD[:28]],
    "Google access token": ["ya29." + WORD],
    "model provider key": ["sk-" + WORD + WORD[:8], "sk-proj-" + WORD, "sk-ant-" + "api03-" + WORD],
    "npm token": ["npm_" + WORD[:36]],
    "PyPI token": ["pypi-" + "AgEIcHlwaS5vcmc" + WORD],
    "Clearance token": ["clr_" + WORD, "token: clr_" + WORD[:30] + "_-" + WORD[:5]],
    "JSON web token": ["eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + WORD],
    "bearer token": ["Authorization: Bearer " + WORD, "BEARER  " + WORD, "curl -H 'bearer " + WORD + "'"],
    "basic credentials": ["Authorization: Basic " + "dXNlcjpwYXNzd29yZA==", "authorization=basic " + "dXNlcjpwYXNz"],
    "password in an address": [
        "postgres://app:" + "hunter2@db.internal/main",
        "see https://ana:" + "s3cret@example.com/x",
        "redis://:" + "s3cret@10.0.0.1:6379",
        "amqp://u:" + "p%40ss@[::1]/",
    ],
}

HARMLESS = [
    "",
    "The box arrived with a broken lid; see photos m4 and m5.",
    "Please rotate the private key and send me the PRIVATE KEY inventory.",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "AKIA",
    "AKIAABCDEFGHIJKLMNO is one short",
    "MAKIAABCDEFGHIJKLMNOPQ",
    "the ASIAN market",
    "set aws_secret_access_key in the environment",
    "a ghp_ token is what you need",
    "xoxo-kisses",
    "the sk_live_ prefix",
    "risk-assessment and task-proj-management-of-the-century",
    "sk-learn",
    "tokens begin with clr_ and are shown once",
    "clr_agent",
    "eyJ is how JSON starts in base64",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.",
    "the bearer of this letter, bearer internationalisation",
    "Bearer bonds 2026",
    "Basic understanding of authorization",
    "https://example.com/path?a=b@c",
    "https://example.com:8443/@ana",
    "https://ana@example.com/",
    "https://a.example:8443,ops@example.com",
    "write to ana@example.com: it is at 12:30",
    "postgres://app:***@db/main",
    "https://user:${TOKEN}@host",
    "https://user:<password>@host",
    "https://user:{password}@host",
    "R-42:send:v8",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "0192f0c1-2345-7abc-8def-0123456789ab",
]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in SECRETS.items() for text in texts])
def test_a_secret_is_recognised_by_its_shape(kind: str, text: str) -> None:
    assert secret_shape(text) == kind
    assert secret_shape(f"Customer writes: ({text})\nthanks") == kind


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_no_secret(text: str) -> None:
    assert secret_shape(text) is None


def test_a_letter_before_a_token_makes_it_a_part_of_a_word() -> None:
    assert secret_shape("xclr_" + WORD) is None


def test_encoded_files_are_no_secrets() -> None:
    noise = base64.b64encode(bytes(range(256)) * 4096).decode()

    assert secret_shape(noise) is None


@pytest.mark.parametrize(
    "text",
    ["://a:", "://:{" + "a" * 50, "bearer ", "-----BEGIN A ", "eyJaaaaaaaa.", "Authorization: ", "AKIA", "xoxb", "sk-"],
)
def test_text_made_to_be_slow_takes_time_in_proportion_to_its_length(text: str) -> None:
    def seconds(size: int) -> float:
        started = time.process_time()
        secret_shape(text * (size // len(text)))
        return time.process_time() - started

    seconds(100_000)

    assert seconds(400_000) < 0.5
