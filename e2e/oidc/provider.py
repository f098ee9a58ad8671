#!/usr/bin/env python3
"""An OpenID provider over TLS for the tests: `oidc-provider-mock` from PyPI, an independent implementation.

    provider.py PORT CERTIFICATE KEY CLAIMS...

CLAIMS is one JSON object with a `sub` per user. Prints "listening", and then one ID token per user, obtained by the
authorization code flow of browsers. Serves until it is killed. Every start has a new signing key.
"""
import json
import logging
import sys
import threading
import urllib.parse
import warnings

warnings.simplefilter("ignore")

import oidc_provider_mock  # noqa: E402
import werkzeug.serving  # noqa: E402

CLIENT = {"client_id": "kubernetes", "redirect_uri": "http://localhost:8000"}


def main():
    port, certificate, key, *users = sys.argv[1:]
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = oidc_provider_mock.app()
    server = werkzeug.serving.make_server(
        "127.0.0.1", int(port), app, threaded=True, ssl_context=(certificate, key)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("listening", flush=True)
    browser, base = app.test_client(), f"https://127.0.0.1:{port}"
    for claims in map(json.loads, users):
        browser.put(f"/users/{claims['sub']}", json=claims, base_url=base)
        query = urllib.parse.urlencode({**CLIENT, "response_type": "code", "scope": "openid email"})
        agreed = browser.post(f"/oauth2/authorize?{query}", data={"sub": claims["sub"]}, base_url=base)
        code = urllib.parse.parse_qs(urllib.parse.urlparse(agreed.headers["location"]).query)["code"][0]
        form = {**CLIENT, "grant_type": "authorization_code", "code": code, "client_secret": "none"}
        answer = browser.post("/oauth2/token", data=form, base_url=base).get_json()
        print("token", answer.get("id_token") or answer, flush=True)
    threading.Event().wait()


main()
