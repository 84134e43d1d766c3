"""A person at the portal without a screen: signs in, proves to be there, and sends the forms that its pages hold."""

import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from http.cookiejar import CookieJar

from tests.journeys.user import Portal

PROVE = "Prove that it is you"
_CHOSEN = ("radio", "checkbox", "file")


@dataclass(frozen=True, slots=True)
class Page:
    """What came back: its status, the address that it ended up at, and its text."""

    status: int
    path: str
    html: str

    @property
    def text(self) -> str:
        """What a reader sees of it, in one line."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.html)).split())

    @property
    def form(self) -> dict[str, str]:
        """Every field of the page's main form as it is shown, by name."""
        reader = _Fields()
        main = self.html.partition("<main")[2] or self.html
        reader.feed(main)
        return reader.fields

    def choice(self, label: str) -> str:
        """The value of the choice that is called *label*."""
        found = re.search(rf'<option value="([^"]*)"[^>]*>\s*{re.escape(label)}\s*<', self.html)
        assert found is not None, f"{self.path} offers no {label}"
        return found[1]


class _Fields(HTMLParser):
    """Fields of forms with their values; of choices the one that is chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._select = self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attrs}
        name = held.get("name", "")
        if tag == "select":
            self._select = name
        elif tag == "textarea":
            self._textarea = name
            self.fields[name] = ""
        elif tag == "option" and self._select:
            if "selected" in held or self._select not in self.fields:
                self.fields[self._select] = held.get("value", "")
        elif tag == "input" and name and (held.get("type") not in _CHOSEN or "checked" in held):
            self.fields[name] = held.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.fields[self._textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._textarea = ""


class Sender:
    """One signed-in session of one person, with cookies of its own; safe in one thread."""

    def __init__(self, portal: Portal, name: str, password: str) -> None:
        self.portal, self.name, self._password = portal, name, password
        proxies = urllib.request.ProxyHandler({})
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()), proxies)

    def knock(self) -> Page:
        """Where name and password lead at the door of the portal."""
        door = self.look("/accounts/login/")
        return self._send("/accounts/login/", door.form | {"login": self.name, "password": self._password})

    def sign_in(self) -> "Sender":
        """As at the door of the portal, which opens."""
        said = self.knock()
        assert "/accounts/" not in said.path, said.text
        return self

    def look(self, path: str) -> Page:
        """A page as it is shown."""
        return self._open(urllib.request.Request(self.portal.url + path))

    def look_proved(self, path: str) -> Page:
        """A page that asks who is there before it shows itself."""
        page = self.look(path)
        return self._prove(page) if PROVE in page.html else page

    def send(self, path: str, fields: Mapping[str, str] | None = None, *, shown: Page | None = None) -> Page:
        """Send the form of *path* as it is shown (*shown* where it was looked at before), with *fields* filled in."""
        page = shown or self.look(path)
        answer = self._send(path, page.form | dict(fields or {}))
        return self._prove(answer) if PROVE in answer.html else answer

    def _prove(self, page: Page) -> Page:
        """The portal asks who is there; what was sent before comes back by itself."""
        return self._send(page.path, page.form | {"password": self._password})

    def _send(self, path: str, fields: Mapping[str, str]) -> Page:
        body = urllib.parse.urlencode(fields).encode()
        headers = {"Referer": self.portal.url + path, "Origin": self.portal.url}
        return self._open(urllib.request.Request(self.portal.url + path, data=body, headers=headers))

    def _open(self, request: urllib.request.Request) -> Page:
        try:
            with self._opener.open(request, timeout=60) as answer:
                status, at, body = answer.status, answer.url, answer.read()
        except urllib.error.HTTPError as refusal:
            status, at, body = refusal.code, refusal.url, refusal.read()
        path = urllib.parse.urlsplit(at)
        where = f"{path.path}?{path.query}" if path.query else path.path
        return Page(status, where, body.decode())
