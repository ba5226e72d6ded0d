"""A bucket of S3 that checks each request's signature (Signature Version 4) and gives nothing without a right one.

The check is written from Amazon's description ("Authenticating Requests: Using the Authorization Header", Amazon S3 API
Reference), and proves itself with the signatures that are published there before it serves.

    s3_server.py BUCKET FOLDER ACCESS_KEY SECRET_KEY [SESSION_TOKEN]

Prints its port, then a line for each request: `path` or `virtual`, how it was answered, and what was asked.

A file with `.next` behind its name replaces the one without while a range of that is read: half of the range is sent, the
file is replaced, and the connection breaks off. A range from the first byte on is no such.
"""

import datetime
import hashlib
import hmac
import http.server
import pathlib
import re
import sys
import urllib.parse
import xml.sax.saxutils

EMPTY = hashlib.sha256(b"").hexdigest()
ALGORITHM = "AWS4-HMAC-SHA256"


def encoded(text, kept):
    return urllib.parse.quote(text, safe="-._~" + kept)


def signature(secret, method, target, headers, signed, stamp, scope):
    """The signature of a request; names of `headers` are in lower case, `signed` are those that count."""
    path, _, query = target.partition("?")
    # A space may come as a plus; S3 and its like count it as a space (RFC 3986 would not).
    query = query.replace("+", "%20")
    pairs = []
    for pair in query.split("&") if query else []:
        name, _, value = pair.partition("=")
        pairs.append((encoded(urllib.parse.unquote(name), ""), encoded(urllib.parse.unquote(value), "")))
    canonical = [
        method,
        encoded(urllib.parse.unquote(path), "/"),
        "&".join(f"{name}={value}" for name, value in sorted(pairs)),
        *(f"{name}:{' '.join(headers[name].split())}" for name in signed),
        "",
        ";".join(signed),
        headers["x-amz-content-sha256"],
    ]
    digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    to_sign = "\n".join([ALGORITHM, stamp, scope, digest])
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


def prove():
    """Amazon's own examples: a range of an object, a setting of a bucket, and a list."""
    secret, scope = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524/us-east-1/s3/aws4_request"
    common = {
        "host": "examplebucket.s3.amazonaws.com",
        "x-amz-content-sha256": EMPTY,
        "x-amz-date": "20130524T000000Z",
    }
    for target, more, expected in [
        ("/test.txt", {"range": "bytes=0-9"}, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        ("/?lifecycle", {}, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("/?max-keys=2&prefix=J", {}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]:
        headers = {**common, **more}
        found = signature(secret, "GET", target, headers, sorted(headers), common["x-amz-date"], scope)
        assert found == expected, (target, found)


def what_is_wrong(method, target, headers, access, secret, token):
    """The code of the error that S3 answers with, or nothing when the signature is right."""
    match = re.fullmatch(
        ALGORITHM + r" Credential=([^/]+)/(\d{8}/[^/]+/s3/aws4_request), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})",
        headers.get("authorization", ""),
    )
    if not match:
        return "AccessDenied"
    key, scope, names, given = match.groups()
    signed = names.split(";")
    must = {"host"} | {name for name in headers if name.startswith("x-amz-")}
    if key != access:
        return "InvalidAccessKeyId"
    if signed != sorted(signed) or not must <= set(signed) <= set(headers):
        return "AccessDenied"
    stamp = headers.get("x-amz-date", "")
    now = datetime.datetime.now(datetime.timezone.utc)
    when = datetime.datetime.strptime(stamp + "+0000", "%Y%m%dT%H%M%SZ%z")
    if abs(now - when) > datetime.timedelta(minutes=15) or not scope.startswith(stamp[:8]):
        return "RequestTimeTooSkewed"
    if headers.get("x-amz-security-token") != token:
        return "InvalidToken"
    if headers["x-amz-content-sha256"] not in (EMPTY, "UNSIGNED-PAYLOAD"):
        return "XAmzContentSHA256Mismatch"
    if not hmac.compare_digest(given, signature(secret, method, target, headers, signed, stamp, scope)):
        return "SignatureDoesNotMatch"
    return None


class Bucket(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_virtual = headers["host"].startswith(BUCKET + ".")
        status, more, body = self.answer(headers, is_virtual)
        style = "virtual" if is_virtual else "path"
        print(style, status, self.command, self.path, headers.get("range", "-"), flush=True)
        self.send_response(status)
        for name, value in more.items():
            self.send_header(name, value)
        if "Content-Length" not in more:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        replaced = self.replaced(status)
        self.wfile.write(body[: len(body) // 2] if replaced else body)
        if replaced:
            self.wfile.flush()
            pathlib.Path(f"{replaced}.next").rename(replaced)
            self.close_connection = True

    do_HEAD = do_GET

    def replaced(self, status):
        """The file that is to be replaced in the middle of this answer, if it is."""
        if status != 206 or self.headers["range"].startswith("bytes=0-"):
            return None
        key = urllib.parse.unquote(self.path.partition("?")[0]).lstrip("/")
        file = FOLDER / key.removeprefix(BUCKET + "/")
        return file if pathlib.Path(f"{file}.next").exists() else None

    def answer(self, headers, is_virtual):
        wrong = what_is_wrong(self.command, self.path, headers, ACCESS, SECRET, TOKEN)
        if wrong:
            return self.error(403, wrong)
        path, _, query = self.path.partition("?")
        key = urllib.parse.unquote(path).lstrip("/")
        if not is_virtual:
            bucket, _, key = key.partition("/")
            if bucket != BUCKET:
                return self.error(404, "NoSuchBucket")
        asked = urllib.parse.parse_qs(query)
        if "list-type" in asked:
            return self.list(asked["prefix"][0])
        file = FOLDER / key
        return self.object(file, headers) if file.is_file() else self.error(404, "NoSuchKey")

    def object(self, file, headers):
        whole = file.read_bytes()
        etag = '"' + hashlib.md5(whole).hexdigest() + '"'
        if headers.get("if-match", etag) != etag:
            return self.error(412, "PreconditionFailed")
        more = {"ETag": etag, "Last-Modified": self.date_time_string(int(file.stat().st_mtime))}
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("range", ""))
        if not match:
            return 200, {**more, "Content-Length": str(len(whole))}, whole
        first, last = int(match[1]), min(int(match[2]), len(whole) - 1)
        if first > last:
            return self.error(416, "InvalidRange")
        return 206, {**more, "Content-Range": f"bytes {first}-{last}/{len(whole)}"}, whole[first : last + 1]

    def list(self, prefix):
        rows = ""
        for file in sorted(FOLDER.rglob("*")):
            key = file.relative_to(FOLDER).as_posix()
            if file.is_file() and key.startswith(prefix) and "/" not in key[len(prefix) :]:
                rows += (
                    f"<Contents><Key>{xml.sax.saxutils.escape(key)}</Key><Size>{file.stat().st_size}</Size>"
                    f"<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                    f"<ETag>&quot;{hashlib.md5(file.read_bytes()).hexdigest()}&quot;</ETag></Contents>"
                )
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>'
            f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{BUCKET}</Name>'
            f"<IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
        )
        return 200, {"Content-Type": "application/xml"}, body.encode()

    def error(self, status, code):
        return status, {"Content-Type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    prove()
    BUCKET, FOLDER, ACCESS, SECRET = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    TOKEN = sys.argv[5] if len(sys.argv) > 5 else None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    print(server.server_port, flush=True)
    server.serve_forever()
