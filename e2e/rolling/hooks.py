#!/usr/bin/env python3
"""Server of two webhooks: `/mutate` adds a label, `/validate` denies objects with the data `reject`.

    hooks.py PORT CERTIFICATE KEY
"""
import base64
import http.server
import json
import ssl
import sys

LABEL = "mutated"
PATCH = base64.b64encode(json.dumps([{"op": "add", "path": f"/metadata/labels/{LABEL}", "value": "yes"}]).encode()).decode()
DENIAL = {"code": 403, "message": "the test rejects it"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The response is written in two parts; Nagle's algorithm would delay the second one.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        response = {"uid": request["uid"], "allowed": True}
        if self.path.startswith("/mutate"):
            response |= {"patchType": "JSONPatch", "patch": PATCH}
        elif "reject" in (request["object"].get("data") or {}):
            response |= {"allowed": False, "status": DENIAL}
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code="-", size="-") -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100


def main() -> None:
    server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    # A handshake on accept would block other connections.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


if __name__ == "__main__":
    main()
