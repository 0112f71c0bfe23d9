"""A person with a browser, without the browser: opens a link, signs in, consents, and follows to the end. What a page asks is
read from its form. With the environment variable DECLINES the person closes the page where consent is asked.
Usage: person.py LINK; as a module, `visit`."""
import html.parser
import http.cookiejar
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


class Forms(html.parser.HTMLParser):
    """The first form of a page: where it goes, and its fields with their values."""

    def __init__(self, page):
        super().__init__()
        self.action, self.fields = None, {}
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form" and self.action is None:
            self.action = given.get("action", "")
        elif tag == "input" and self.action is not None and "name" in given:
            self.fields[given["name"]] = given.get("value") or ""


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    def __init__(self):
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        # No proxy of the environment: all is on this machine.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies, Stay())

    def fetch(self, url, fields=None):
        body = None if fields is None else urllib.parse.urlencode(fields).encode()
        try:
            answer = self.opener.open(urllib.request.Request(url, data=body), timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.headers, answer.read().decode(errors="replace")


def visit(url, login="alice", declines=False, stop=None):
    """Goes from the link to the last page; gives its address and text. Stops at an address that begins with `stop` and does not
    open it, as a browser on another machine could not."""
    browser = Browser()
    fields = None
    for _ in range(20):
        if stop and url.startswith(stop):
            return url, ""
        status, headers, page = browser.fetch(url, fields)
        if headers.get("Location"):
            url, fields = urllib.parse.urljoin(url, headers["Location"]), None
            continue
        form = Forms(page)
        if form.action is None or status >= 400:
            return url, page
        fields = dict(form.fields)
        if fields.get("prompt") == "consent" and declines:
            url, fields = url.rstrip("/") + "/abort", None
            continue
        if "login" in fields:
            fields.update(login=login, password="any")
        url = urllib.parse.urljoin(url, form.action)
    raise SystemExit(f"the pages do not end: {url}")


if __name__ == "__main__":
    address, text = visit(sys.argv[1], os.environ.get("PERSON", "alice"), "DECLINES" in os.environ)
    print(address.split("?")[0], text)
