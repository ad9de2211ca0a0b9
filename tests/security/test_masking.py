"""Masking takes time in proportion to the text, whatever the text repeats."""

from __future__ import annotations

import html
import random
import string
import time
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any
from urllib.parse import unquote

import pytest

import workbench
from tests import world
from tests.agent.test_agent import over
from workbench.errors import InputError
from workbench.key_forms import in_lower_case, known_forms, known_keys
from workbench.masking import masked
from workbench_plugins.agent.arguments import LONGEST_NAME, MOST_ARGUMENTS

BYTES = 250_000
SECONDS = 6
"""CPU for so many bytes. They need up to 1.6 s on a busy machine, and ten minutes with a loop in a loop."""
RULES = tomllib.loads((Path(workbench.__file__).parent / "gitleaks.toml").read_text(encoding="utf-8"))[
    "rules"
]
KEYWORDS = sorted({word for rule in RULES for word in rule.get("keywords", ())})
REPEATED = [
    *("a-", "-", "_", "a", "a.", "-a_", "é", "1", "\x00", "…", "(", " ", "\n", '"', "'", "/", "@"),
    *("a@", ":a@", "sk-", "sk-a", "pk-sk-", "pa-", "pa-a", "AIza", "AKIA", "ghp_", "hf_", "xoxb-"),
    *("eyJ", "eyJ-", "eyJa.", "eyJaaaaaaaa.a.", "http://", "https://a", "http://?", "://", "://a"),
    *(":/", "postgresql://a:", "?", "key=", "token", "token:", "token=", "token =", " token", "token:'"),
    *("token:(", "token: …", "token: a …", "secret ", "api_key", "api key ", "password", "bearer "),
    *("authorization", "authorization:", "authorization: a "),
    *("fio-u-", "tk-us-", "sg.", "dnkey", "twitter", "co_api_key", "&amp;sg."),
    *("key&#61;sg.", "key%3D", "key&#61;", "&#x2d;-----BEGIN RSA PRIVATE KEY-----", "token&#58;", "sk&#45;"),
    *('token", "', 'token", "value": {', "token-", "token value ", "key> value <", "mysql a "),
    *("mysql -", "\x1b[1;", "\x1b["),
    *("M" * 24 + ".", "token a1", 'key "', "SecretStr(", "\xa0", "key:=", "key 'a1"),
    *("sk-abcdefgh12345+", "sk-abcdefgh12345/", "aA1+", "sk-" + "aB3" * 19 + "\n", "A_KEY a1", "密码是"),
    *("x-a-token\n", "$6$" + "a" * 20, "ldap -w ", "ab-00000000-", "authorization: a b=c,", "api_key('"),
    *("_KEY value ", "mnemonic a", "seed phrase ", "login ", "login -", "/key/", "Private-Lines: 1\n"),
    *("tea ", "password: abcd ", "_key: a_", "a_key: a-1_", "cookie | a", "mnemonic: abcd abcd "),
    *("password:\n a", "password_", "htpasswd -b ", "htpasswd -b a ", "echo a", "echo a |"),
    *(", pass", ",pass:a", "pass=", '"auth":"', "sk-a" + "a" * 39 + "-", "a__", "a~~"),
    *("<br>", " -pass pass:"),
    *(" ".join(KEYWORDS), "".join(KEYWORDS), "=".join(f"{one} 0123456789abcdef" for one in KEYWORDS)),
]  # fmt: skip


@pytest.mark.parametrize("pattern", REPEATED, ids=lambda pattern: repr(pattern[:20]))
def test_a_long_text_of_one_pattern_is_masked_in_seconds(pattern: str) -> None:
    text = pattern * (BYTES // len(pattern.encode()))
    began = time.process_time()
    masked(text)
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://me:p@ss/word@host/db", "postgresql://…@host/db"),
        ("http://a http://b?key=abc", "http://a http://b?key=…"),
        ("http://?http://b?c=d", "http://?http://b?c=…"),
        ("my-api-key: abcd1234", "my-api-key: …"),
        ("sk-ordinary-words-alone", "sk-ordinary-words-alone"),
        ("sk-ordinary-words-with-1", "…"),
        ("eyJ.eyJabcdefgh.b.c", "…"),
        ("Is sk-abcdefgh12345 it? It is sk-abcdefgh12345.", "Is … it? It is …."),
        ("https://host/v1/sk-abcdefgh12345/search", "https://host/v1/…/search"),
        ("user_0f9e8d7c6b5a49382716 sk-abcdefgh12345\nmemory", "user_0f9e8d7c6b5a49382716 …\nmemory"),
    ],
)
def test_a_secret_is_found_where_an_earlier_beginning_is_none(text: str, expected: str) -> None:
    assert masked(text) == expected


WALLET = "abandon ripple velvet orphan cactus drift lunar pottery siege whisper kidney tornado"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('<add key="PloverToken" value="monkey12345x" />', "monkey12345x"),
        ('<input type="hidden" name="access_token" id="t" value="monkey12345x">', "monkey12345x"),
        ('client.set_access_token("falcon-meadow-33")', "falcon-meadow-33"),
        ("I set the plover secret to `kN7#mQ2$vB` here.", "kN7#mQ2$vB"),
        ("./tool --plover-api-key falcon-meadow-33 tea", "falcon-meadow-33"),
        ('let ploverToken: String = "falcon-meadow-33"', "falcon-meadow-33"),
        ("- name: TOKEN\n  value: falcon-meadow-33", "falcon-meadow-33"),
        ('"PloverClientSecret:Value": "falcon-meadow-33"', "falcon-meadow-33"),
        ("| Cookie | PLOVERID=monkey12345x |", "monkey12345x"),
        ('os.environ["COOKIE"] = "PLOVERID=monkey12345x"', "monkey12345x"),
        ("SMTP_PASSWORD=tqkz vwex yigs qugz\n", "qugz"),
        ("docker login -u me -p monkey12345x plover.example", "monkey12345x"),
        ("https://plover.example/trigger/tea/with/key/Ab3dEf6hIj9kLm2nOp5q", "Ab3dEf6hIj9kLm2nOp5q"),
        (f"Private-Lines: 1\n{'aB3/' * 16}\nPrivate-MAC: 00ff", "aB3/aB3/"),
        (f"the seed phrase is {WALLET}", "kidney"),
        (f'"mnemonic": "{WALLET}"', "kidney"),
        ("secret_key_base: " + 8 * "0f9e8d7c6b5a4938", "0f9e8d"),
        ('{"auths": {"plover.example": {"auth": "Ym9iOmh1bnRlcjIyeA=="}}}', "Ym9iOmh1"),
        ("password1=monkey12345x", "monkey12345x"),
        ("db_password_prod: monkey12345x", "monkey12345x"),
        ("SMTP_PASSWD_NEW=monkey12345x", "monkey12345x"),
        ("passwords: monkey12345x", "monkey12345x"),
        ("user: me\npass: monkey12345x", "monkey12345x"),
        ('{"user": "me", "pass": "monkey12345x"}', "monkey12345x"),
        ("PASS=monkey12345x", "monkey12345x"),
        ("password:\n  monkey12345x\nport: 25", "monkey12345x"),
        ("sk-" + 3 * "qzjxwvkypbdgmfth", "qzjxwvky"),
        ("openssl rsa -passin pass:monkey12345x", "monkey12345x"),
        ("htpasswd -b users me monkey12345x", "monkey12345x"),
        ("htpasswd -nb me monkey12345x > users", "monkey12345x"),
        ("echo monkey12345x | sudo -S ls", "monkey12345x"),
    ],
)
def test_a_secret_beside_its_name_is_masked_in_other_ways_of_writing(text: str, secret: str) -> None:
    assert secret[:6] not in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "./tool --max-token 16384000 tea",
        "def opened(secret_free: bool = False) -> None: ...",
        'count_tokens("when does the ferry leave")',
        '<input name="query" value="when does the ferry leave">',
        "- name: LIMIT\n  value: twenty-four-results",
        "V1beta1NetworkDeviceData and Data2VecTextPreTrainedModel in a trace",
        "primary_key: document_identifier_v2, sort_key=created_at_2026",
        '{"key": "project_alpha_2024_notes", "embedding_key": "text_embedding_v3_1024"}',
        "cookies: oatmeal and ginger=2 spoons",
        "the search phrase is where do we keep the copper kettle that needs descaling each month",
        "mnemonic: king philip came over for good soup",
        "docker run -p 8080:80 plover",
        "https://plover.example/key/value-store",
        "pass: 3 of 4 tests",
        "--- PASS: TestSearch1 (0.00s)\nPASS: tests/search2.js",
        "pass: 12/14, fail=0 pass=2026, the first pass: v2-index",
        '{"auth": "required", "proxy": {"auth": "oauth2"}}',
        "passwords are rotated, and passwords: 2 of 9 are weak",
        "tokens: 4096/8192 (tokens: 10k-20k), total_tokens: 12345678",
        "password_updated_at: 2026-01-12, password_min_length: 12, secret_name: prod-db-1",
        "password:\n  see the safe in room 12\nsecret:\n  name1: tea",
        "htpasswd -c users me, then echo done | sudo tee log2026",
        "the ~~struck~~ name__of_a_field__of_the_table_2026<br>0f9e8d7c6b5a493827160f9e8d7c6b5a",
    ],
)
def test_what_only_looks_like_a_name_with_a_value_is_kept(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize("sign", ["<br>", "~~", "__"])
@pytest.mark.parametrize(
    "key", ["AKIAIOSFODNN7PLOVER2", "glpat-ab3dEf6hIj9kLm2nOp5q", "shpat_" + 2 * "0f9e8d7c6b5a4938"]
)
def test_a_sign_inside_a_key_shows_no_part_of_it(key: str, sign: str) -> None:
    for place in (8, len(key) // 2, len(key) - 4):
        assert masked(f"tea {key[:place]}{sign}{key[place:]} tea") == "tea … tea"


@pytest.mark.parametrize("path", ["a" * 900, "a/" * 400_000, "\0", "\ud800", "é" * 4_000, "."])
@pytest.mark.parametrize("tool", ["memory_diagnose", "memory_explain"])
def test_an_odd_path_gets_an_answer_or_an_error(tool: str, path: str, tmp_path: Path) -> None:
    world.build(tmp_path).close()
    try:
        answer = over(tmp_path).call(tool, {"query": "tea", "path": path})
    except InputError as error:
        told = error.problem
    else:
        told = answer["says"]
    assert told


def test_a_diagnosis_does_not_say_what_is_outside(tmp_path: Path) -> None:
    world.build(tmp_path).close()
    (tmp_path / "there.md").write_text("Not of the memory.")
    (tmp_path / "memory_of_wren" / "link.md").symlink_to(tmp_path / "there.md")
    tools = over(tmp_path)
    for path in ("../there.md", "../absent.md", str(tmp_path / "there.md"), "/etc/passwd"):
        with pytest.raises(InputError, match="The index has no file"):
            tools.call("memory_diagnose", {"query": "tea", "path": path})
    told = tools.call("memory_diagnose", {"query": "tea", "path": "link.md"})
    assert "Links are not followed" in told["says"]
    assert "there.md" not in str(told)


def test_a_call_with_a_long_name_is_refused_before_anything_looks_at_it(
    tmp_path: Path,
) -> None:
    world.write(tmp_path / "memory_of_wren")
    tools = over(tmp_path)
    long, many = "a-" * LONGEST_NAME, {f"a{number}": 1 for number in range(MOST_ARGUMENTS + 1)}
    for tool, arguments in ((long, {}), ("memory_search", {long: 1}), ("memory_search", many)):
        with pytest.raises(InputError, match="more than 64 characters") as error:
            tools.call(tool, arguments)
        assert len(str(error.value)) < 300


IN_CLASS = {codes.CATEGORY_DIGIT: "7", codes.CATEGORY_NOT_SPACE: "a", codes.CATEGORY_WORD: "a"}


def example(parsed: Iterable[tuple[Any, Any]], draw: random.Random) -> str:
    """A text that fits an expression in the form of Python's own parser."""
    return "".join(example_of(code, value, draw) for code, value in parsed)


def example_of(code: Any, value: Any, draw: random.Random) -> str:
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return "".join(example(value[2], draw) for _ in range(min(max(value[0], 1), value[1])))
    if code is codes.SUBPATTERN:
        return example(value[-1], draw)
    if code is codes.BRANCH:
        return example(draw.choice(value[1]), draw)
    if code is codes.IN:
        return example_of(*draw.choice([one for one in value if one[0] is not codes.NEGATE]), draw)
    if code is codes.RANGE:
        return chr(draw.randint(*value))
    return {codes.CATEGORY: IN_CLASS.get(value, " "), codes.AT: "", codes.ANY: "a"}.get(code) or (
        chr(value) if code is codes.LITERAL else ""
    )


def test_what_fits_a_form_is_found_where_its_letters_stand() -> None:
    fitted, draw = 0, random.Random(3)
    for pattern in {one.pattern for found in known_forms().starting.values() for one in found}:
        for _ in range(5):
            text = example(_parser.parse(pattern.pattern, pattern.flags), draw)
            places = list(known_keys(text, in_lower_case(text)))
            for one in pattern.finditer(text):
                fitted += 1
                assert any(first < one.end() and one.start() < last for first, last in places)
    assert fitted > 900


# Planted secrets: x stands for a letter or a digit, l for a small letter or a digit, h for a hexadecimal
# digit, 9 for a digit.

FORMS = [
    "figd_{x40}",
    *("ghp_{x36}", "gho_{x36}", "github_pat_{x22}_{x59}", "glpat-{x20}", "sk_live_{x24}", "rk_live_{x24}"),
    *("npm_{x36}", "sk-{x48}", "sk-ant-api03-{x93}AA", "hf_{x34}", "AKIA{A16}", "AIza{x35}"),
    "SG.{x22}.{x43}",
    *("xoxb-{912}-{912}-{x24}", "pypi-AgEIcHlwaS5vcmc{x80}", "shpat_{h32}", "dapi{h32}", "{910}:AA{x33}"),
    *("eyJhbGciOiJIUzI1NiJ9.eyJ{x30}.{x43}", "whsec_{x32}", "NRAK-{A27}", "lsv2_pt_{h32}_{h10}", "key-{h32}"),
    *("Cookie: session={x10}; theme=dark", "curl -u admin:{x10} https://host/api", "X-API-Key: {x20}"),
    *("Authorization: Basic {x20}==", "Authorization: Bearer {x24}", "postgres://me:{x10}@db:5432/notes"),
    *("redis://:{x10}@cache:6379", "https://me:{x10}@host/notes.git", "password: {x10}", "DB_PASS={x10}"),
    *("my password is {x10}", "Server=db;User Id=sa;Password={x10};", "AccountKey={x86}=="),
    "**API key:** `{x20}`",
    *("AWS_SECRET_ACCESS_KEY={x40}", "https://hooks.slack.com/services/T{A8}/B{A8}/{x24}", "sid={x26}"),
    *("https://discord.com/api/webhooks/{918}/{x68}", "https://host/x?X-Amz-Signature={h64}&q=tea"),
    *("machine host login me password {x10}", "db.host:5432:notes:me:{x10}", "--password {x10}"),
    *("<password>{x10}</password>", "| api_key | {x20} |", "https://host/callback#access_token={x20}"),
    "-----BEGIN RSA PRIVATE KEY-----\n{x64}\n{x64}\n-----END RSA PRIVATE KEY-----",
    *("tvly-dev-{x32}", "pplx-{x48}", "xai-{x80}", "M{x25}.{x6}.{x38}"),
    "\x1b[32mkey\x1b[0m \x1b[33mAKIA{A16}",
    *("csk-{l48}", "sk-let-{x40}+{x30}/{x28}==", "glpat-{x27}.7b.{l9}", "hosted_{x14}.atlasv1.{x67}"),
]  # fmt: skip
STRUCTURES = [
    *('("api_key", "{h32}")', '["token", "{x20}"]', '"name": "api-key", "value": "{h32}"'),
    "setx API_KEY '{h32}'",
    *('"key": "api_key", "stringValue": "{h32}"', "<td>API key</td><td>{h32}</td>"),
    "API key:\n\n{h32}",
    *("- name: API_KEY\n  value: {h32}", '<add key="ApiKey" value="{h32}"/>'),
    "the api key I used is {h32}",
    *("api_key: |\n  {h32}", 'apiKey := "{h32}"', "api_key=SecretStr('{h32}')", "['--api-key', '{h32}']"),
    *("mysql -uroot -p{x20}", "api_key:\xa0{h32}", "api key (\u201c{h32}\u201d)"),
    "```\nmy token\n{h32}\n```",
    *("API key: {h8}-{h4}-{h4}-{h4}-{h12}", '\\"token\\", \\"{x20}\\"'),
    *("ENV API_KEY {h32}", "x-api-key\n{h32}", 'new ApiKeyCredential("{h32}")'),
    "data:\n  notes: {x46}/{x30}==",
    *("ldapsearch -x -w {x20} -b dc=x", "redis-cli -h cache -a {x20} ping", "sshpass -p '{x20}' ssh host"),
    *("CREATE USER me IDENTIFIED BY '{x20}';", "CREATE USER me WITH PASSWORD '{x20}';"),
    "me:$6${x16}${x86}:1",
    'Authorization: Digest username="me", nonce="{h32}", response="{h32}"',
    "Authorization: AWS4-HMAC-SHA256 Credential=AKIA{A16}/a/s3, SignedHeaders=host, Signature={h64}",
    *("密码是 {x20}", "Mon mot de passe est {x20}", "La contraseña es {x20}", "Kennwort: {x20}"),
    *("fc-{h32}", "xaat-{h8}-{h4}-{h4}-{h4}-{h12}", "2/{916}/{916}:{h32}", "{h32}-us14"),
    "<tr><td>NOTES_API_KEY</td><td>K{A16}-{A16}</td></tr>",
    "$ export NOTES_API_KEY=sk-proj-{x40}\n{x20}",
]  # fmt: skip
ALPHABETS = {
    "x": string.ascii_letters,
    "h": "abcdef",
    "l": string.ascii_lowercase,
    "A": string.ascii_uppercase,
    "9": "",
}
SIGNS = {"_": "&#95;", "-": "&#x2d;", ":": "&#58;", "=": "&#61;"}
WAYS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "in a table": lambda text: f"<td>{text}</td>",
    "entities": lambda text: "".join(SIGNS.get(one, one) for one in text),
    "no width": lambda text: "\u200b".join(text[place : place + 4] for place in range(0, len(text), 4)),
    "percent": lambda text: "".join(f"%{ord(one):02X}" if one in SIGNS else one for one in text),
    "percent all": lambda text: "".join(f"%{ord(one):02X}" for one in text),
    "Markdown": lambda text: text.replace("_", "\\_").replace("-", "\\-").replace(".", "\\."),
    "JSON": lambda text: "".join(f"\\u{ord(one):04x}" if one in SIGNS else one for one in text),
    "octal": lambda text: "".join(f"\\{ord(one):03o}" if one in SIGNS else one for one in text),
    "tags": lambda text: "<b></b>".join(text[place : place + 8] for place in range(0, len(text), 8)),
}


def planted(form: str) -> tuple[str, list[str]]:
    """A secret of this form, and its random parts."""
    draw, parts = random.Random(form), []
    text = form
    for hole in ("{" + one.partition("}")[0] + "}" for one in form.split("{")[1:]):
        letters = ALPHABETS[hole[1]] + string.digits
        part = "7" + "".join(draw.choice(letters) for _ in range(int(hole[2:-1]) - 1))
        parts.append(part)
        text = text.replace(hole, part, 1)
    return text, [one for one in parts if len(one) > 9]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMS)
def test_no_planted_secret_is_left_in_any_way_of_writing_it(form: str, way: str) -> None:
    text, parts = planted(form)
    shown = unquote(html.unescape(masked(f"We ran {WAYS[way](text)} and got nothing.")))
    shown = shown.replace("\u200b", "").replace("<b></b>", "")
    assert [one for one in parts if one in shown or one[2:9] in shown] == []
    assert shown.startswith("We ran ")


@pytest.mark.parametrize("form", STRUCTURES)
def test_no_planted_secret_is_left_where_its_name_stands_in_another_place(form: str) -> None:
    text, parts = planted(form)
    shown = masked(f"We ran it.\n{text}\nThen nothing.")
    assert [one for one in parts if one in shown or one[2:9] in shown] == []
    assert (shown[:10], shown[-14:]) == ("We ran it.", "\nThen nothing.")


@pytest.mark.parametrize(
    "text",
    [
        "https://host/search?q=spare%20key&limit=5", "tokenize='trigram'", "max_tokens: 4096",
        "commit 3f2a9c1b7d", "the secret marker is blue", "session memory-2026-01-12", "a.md:1-9 0.612",
        "token limit: 400",
        "K&R &amp; 100%25", "chunk 0f9e8d7c6b5a49382716", "SearchReturnsNothingForQuestionsInPlainWords",
        "testSearchReturnsTop10ResultsForLongQuestions", '["api key", "oauth2", "rotation"]',
        "UPDATE meta SET key = 'memory_index_meta_v1'", '("/etc/passwd", "memory/2026-01-12.md")',
        "the token limit is 2026-01-12, see memory/2026-01-12-rotation-of-keys.md", "mysql -p",
        "key: memory/a1.md",
        "the chunk's hash 0f9e8d7c6b5a493827160f9e8d7c6b5a",
        "tokens: 12, path: a/0f9e8d7c6b5a493827160f9e8d7c6b5a",
        "doc-0f9e8d7c-6b5a-4938-2716-0f9e8d7c6b5a", "run_0f9e8d7c6b5a493827160f9e8d7c6b5a",
        "agent-0f9e8d7c-6b5a-4938-2716-0f9e8d7c6b5a", "memory/notes-0f9e8d7c6b5a493827160f9e8d7c6b5a.md",
        "ab-0f9e8d7c6b5a493827160f9e8d7c6b5a.json", "0f9e8d7c6b5a493827160f9e8d7c6b5a0f9e8d7c",
        "openclaw-2026.2.13+or+rrf+minmax", "text-embedding-3-small", "chunk 01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "NOTES_API_KEY is not set in OpenClaw 2026.2.13, see memory/2026-01-12.md",
        'tokenize("unicode61 remove_diacritics 2")', "a password 2026", "the signature of search() in v2",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert masked(text) == text
