"""A TCP proxy in front of a node, which loses replies, hangs and cuts connections."""

import contextlib
import socket
import threading


class Proxy:
    """Passes bytes until it is told otherwise.

    ``lose`` is called with what the server says of each piece; while it returns True, nothing
    more is passed to the client, and ``lost`` is set; then the connection is cut, or with
    ``hang`` is left open.
    """

    def __init__(self, target):
        host, _, port = target.rpartition(":")
        self.target = (host, int(port))
        self.lose = None  # (bytes from the client) -> bool: lose the reply to this
        self.hang = False
        self.request = self.reply = lambda data: data  # what becomes of bytes on their way
        self.lost = threading.Event()
        self._sockets = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # what is passed slowly arrives slowly
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self.target)
                self._sockets += [near, far]
                silent = threading.Event()
                for args in ((near, far, True, silent), (far, near, False, silent)):
                    threading.Thread(target=self._pump, args=args, daemon=True).start()

    def _pump(self, source, sink, requests, silent):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if requests and self.lose and self.lose(data):
                    silent.set()
                if not requests and silent.is_set():
                    self.lost.set()
                    if self.hang:
                        continue
                    break
                sink.sendall(self.request(data) if requests else self.reply(data))
        for s in (source, sink):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def cut(self):
        for s in self._sockets:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()
        self.cut()


def losing(word, times=1):
    """Loses the replies to the first so many requests that contain a word."""
    left = [times]

    def lose(data):
        if word in data and left[0] > 0:
            left[0] -= 1
            return True
        return False

    return lose
