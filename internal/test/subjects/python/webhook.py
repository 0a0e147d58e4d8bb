#!/usr/bin/env python3
"""A conversion webhook in Python's standard library alone.

It converts Gadgets of the group gadgets.example.org between v1beta1, which has a size with width and height, and v1,
which has the two in fields of their own.
"""

import argparse
import copy
import http.server
import json
import signal
import ssl
import sys
import threading

OLDER = "gadgets.example.org/v1beta1"
NEWER = "gadgets.example.org/v1"
REVIEWS = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"]
RENAMED = [("colour", "color"), ("serial", "serialNumber")]

BUGS = {
    "float-integers": "reads integers as floats, as languages with one type of numbers do",
    "latin-1": "answers in latin-1, with question marks for what that does not have",
    "loses-unknown": "keeps of spec.settings only the fields that it knows",
    "stale-uid": "answers all requests with the uid of the first",
    "drops-falsy": 'drops 0, false, "" and what is empty',
    "shares-defaults": "gives a Gadget without tags those of the one before",
    "no-spec": "fails when there is no spec",
}


class Refused(Exception):
    """What is asked for cannot be converted."""


class Webhook:
    """Answers conversion requests, with a bug or without."""

    def __init__(self, bug=None):
        self.bug = bug
        self.first_uid = None
        self.last_tags = []
        self.lock = threading.Lock()

    def answer(self, body):
        """Return the body of the response to the body of a request, or raise ValueError when it is no request."""
        parse_int = float if self.bug == "float-integers" else int
        review = json.loads(body, parse_int=parse_int)
        request = review.get("request") if isinstance(review, dict) else None
        if not isinstance(request, dict):
            raise ValueError("the body is no ConversionReview with a request")
        if review.get("apiVersion") not in REVIEWS:
            raise ValueError(f"cannot answer in {review.get('apiVersion')}; send {' or '.join(REVIEWS)}")
        response = {"uid": self.uid(request)}
        try:
            response["convertedObjects"] = [
                self.convert(one, request.get("desiredAPIVersion")) for one in request.get("objects") or []
            ]
            response["result"] = {"status": "Success"}
        except Refused as refusal:
            response = {"uid": response["uid"], "result": {"status": "Failed", "message": str(refusal)}}
        answer = {"apiVersion": review.get("apiVersion"), "kind": "ConversionReview", "response": response}
        if self.bug == "float-integers":
            answer = whole(answer)
        if self.bug == "latin-1":
            return json.dumps(answer, ensure_ascii=False).encode("latin-1", errors="replace")
        return json.dumps(answer).encode("ascii")

    def uid(self, request):
        with self.lock:
            if self.first_uid is None:
                self.first_uid = request.get("uid")
            return self.first_uid if self.bug == "stale-uid" else request.get("uid")

    def convert(self, old, desired):
        if not isinstance(old, dict):
            raise Refused("an object is not a JSON object")
        current = old.get("apiVersion")
        if {current, desired} - {OLDER, NEWER}:
            raise Refused(f"cannot convert {current} to {desired}")
        new = copy.deepcopy(old)
        new["apiVersion"] = desired
        spec = new["spec"] if self.bug == "no-spec" else new.get("spec")
        if spec is None or current == desired:
            return new
        if not isinstance(spec, dict):
            raise Refused("spec is not a JSON object")
        if desired == NEWER:
            to_newer(spec)
        else:
            to_older(spec)
        self.spoil(spec)
        return new

    def spoil(self, spec):
        if self.bug == "loses-unknown" and isinstance(spec.get("settings"), dict):
            spec["settings"] = {k: v for k, v in spec["settings"].items() if k in ("mode", "level")}
        if self.bug == "drops-falsy":
            for name in [name for name, value in spec.items() if not value]:
                del spec[name]
        if self.bug == "shares-defaults":
            with self.lock:
                self.last_tags = spec.setdefault("tags", self.last_tags)


def to_newer(spec):
    for old, new in RENAMED:
        if old in spec:
            spec[new] = spec.pop(old)
    size = spec.pop("size", None)
    if size is not None and not isinstance(size, dict):
        raise Refused("spec.size is not a JSON object")
    for name in ("width", "height"):
        if size and name in size:
            spec[name] = size[name]


def to_older(spec):
    for old, new in RENAMED:
        if new in spec:
            spec[old] = spec.pop(new)
    size = {name: spec.pop(name) for name in ("width", "height") if name in spec}
    if size:
        spec["size"] = size


def whole(value):
    """Write floats without a fraction as integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    return value


class Handler(http.server.BaseHTTPRequestHandler):
    """Puts a webhook behind HTTP."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    timeout = 120
    webhook = None

    def do_POST(self):
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            self.close_connection = True
            self.reply(411, "text/plain", b"the request has no Content-Length\n")
            return
        body = self.rfile.read(length)
        if self.path.split("?")[0] != "/convert":
            self.reply(404, "text/plain", b"only /convert is served\n")
            return
        try:
            answer = self.webhook.answer(body)
        except (ValueError, RecursionError) as error:
            self.reply(400, "text/plain", f"{error}\n".encode())
        except Exception as error:  # a bug must not take the connection with it
            self.reply(500, "text/plain", f"{type(error).__name__}: {error}\n".encode())
        else:
            self.reply(200, "application/json", answer)

    def reply(self, status, content_type, body):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Serves each connection in a thread of its own, which has to shake hands, too."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port, certs, handler):
        super().__init__(("127.0.0.1", port), handler)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(f"{certs}/tls.crt", f"{certs}/tls.key")

    def get_request(self):
        connection, address = super().get_request()
        return self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request, client_address):
        pass  # clients that break off are none of the webhook's business


def parse(arguments):
    parser = argparse.ArgumentParser(description="Convert Gadgets of the group gadgets.example.org.")
    parser.add_argument("--port", type=int, default=0, help="port of 127.0.0.1 to listen on; 0 for a free one")
    parser.add_argument("--certs", help="directory with tls.crt and tls.key")
    parser.add_argument("--bug", choices=sorted(BUGS), help="bug to plant")
    parser.add_argument("--bugs", action="store_true", help="list the bugs, and end")
    options = parser.parse_args(arguments)
    if not options.bugs and not options.certs:
        parser.error("no certificate to serve with; give the directory of tls.crt and tls.key by --certs")
    return options


def main():
    options = parse(sys.argv[1:])
    if options.bugs:
        for name, summary in BUGS.items():
            print(f"{name:<20} {summary}")
        return
    handler = type("BoundHandler", (Handler,), {"webhook": Webhook(options.bug)})
    try:
        server = Server(options.port, options.certs, handler)
    except OSError as error:
        sys.exit(f"webhook.py: {error}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"listening on https://127.0.0.1:{server.server_port}/convert", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
