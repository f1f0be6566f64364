"""The app in a browser: a web server that runs one process of the app per open page.

`server` answers requests, `session` runs an app and connects it to its page, `policy` decides who may connect
and how much a client may send. `cli.served_app` is the app's side: a Textual driver on pipes, without access
to files other than the capture.

textual-serve is not used: it has no bounds, token or policy, and no interface to add them or change its page.
"""
