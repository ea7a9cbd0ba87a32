"""Explains why a connection could not be made."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator

HTTP = re.compile(r"HTTP/|got \"[H<]\"")  # in errors of redis-py and hiredis
EXPIRED, NOT_YET_VALID = 10, 9  # verify codes of OpenSSL
OTHER_HOST, OTHER_ADDRESS = 62, 64


def explain(error: BaseException) -> tuple[str, bool]:
    """Return what is wrong and what to do, as far as is known, and whether no further attempt will mend it."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _of_certificate(cause), True
        if isinstance(cause, ssl.SSLError) and cause.reason and "EOF" not in cause.reason:
            return _of_handshake(cause.reason), True
        if HTTP.search(str(cause)):
            return "this is no port for Redis clients: give the address of one", True
        if isinstance(cause, (EOFError, ConnectionResetError)) or "Connection closed by server" in str(cause):
            return "it was closed before it was answered: is this a port for Redis clients?", False
    return "", False


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _of_certificate(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in (EXPIRED, NOT_YET_VALID):
        return "renew the certificate of this node, or set the clock"
    if error.verify_code in (OTHER_HOST, OTHER_ADDRESS):
        return "connect by a name that is in the certificate of this node, or have it made for this one"
    return "trust the authority that has signed the certificate of this node: ssl.create_default_context(cafile=...)"


def _of_handshake(reason: str) -> str:
    if "CERTIFICATE_REQUIRED" in reason:
        return "the node asks for a client certificate: load_cert_chain of the SSLContext"
    if reason == "WRONG_VERSION_NUMBER":
        return "this port does not take TLS: connect without it, or to another port"
    return "the TLS handshake failed"
