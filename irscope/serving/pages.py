"""The pages: the app's, and those that say why there is no app."""

from __future__ import annotations

from html import escape

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="dark">
<title>{title}</title>
<link rel="icon" href="static/icon.svg">
{head}
<link rel="stylesheet" href="static/page.css">
</head>
<body>
{body}
</body>
</html>
"""
_APP = """<div id="terminal"></div>
<div id="keys" hidden></div>
<div id="notice" role="alertdialog" aria-labelledby="reason" hidden>
<p id="reason"></p>
<button type="button" id="again">Start again</button>
</div>
<noscript><p class="message">The app needs JavaScript.</p></noscript>"""
_APP_HEAD = """<link rel="stylesheet" href="static/xterm.css">
<script type="module" src="static/terminal.js"></script>"""


def app_page(name: str) -> str:
    """The page that shows the app; `name` is the capture's."""
    return _PAGE.format(title=f"{escape(name)} - irscope", head=_APP_HEAD, body=_APP)


def message_page(text: str, extra: str = "") -> str:
    """A page with a sentence; `extra` is HTML that follows it."""
    body = f'<main class="message"><h1>irscope</h1><p>{escape(text)}</p>{extra}</main>'
    return _PAGE.format(title="irscope", head="", body=body)


def token_page(refused: bool) -> str:
    """The page that asks for the token."""
    text = "This token is not the server's." if refused else "This page needs the server's token."
    form = (
        "<p>Open the address that irscope serve printed, or enter the token at its end.</p>"
        '<form action="./" method="get"><input name="token" type="password" autocomplete="off" '
        'aria-label="Token" autofocus required> <button>Open</button></form>'
    )
    return message_page(text, form)


def redirect_page() -> str:
    """A page that opens the app from our own site, because a browser sends our cookie only then."""
    head = '<meta http-equiv="refresh" content="0; url=./">'
    return _PAGE.format(
        title="irscope", head=head, body='<p class="message"><a href="./">Open the app</a></p>'
    )
