"""The keys of a session and of its state."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from ..naming import escaped
from ..requests import key_bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session is kept: its events are a session of turnlog, its state is a hash. The states
    that sessions share, of the user and of the application, are hashes as well.
    """

    prefix: str
    app: str
    user: str
    id: str

    @property
    def log(self) -> bytes:
        """The key of the events."""
        return key_bytes(beginning(self.prefix, self.app, self.user) + escaped(self.id))

    @property
    def state(self) -> bytes:
        """The key of the session's own state."""
        return key_bytes(f"{self.prefix}state:{escaped(self.app)}:{escaped(self.user)}:{escaped(self.id)}")

    @property
    def user_state(self) -> bytes:
        """The key of the user's state."""
        return user_state(self.prefix, self.app, self.user)

    @property
    def app_state(self) -> bytes:
        """The key of the application's state."""
        return app_state(self.prefix, self.app)


def user_state(prefix: str, app: str, user: str) -> bytes:
    """Return the key of a user's state."""
    return key_bytes(f"{prefix}user:{escaped(app)}:{escaped(user)}")


def app_state(prefix: str, app: str) -> bytes:
    """Return the key of an application's state."""
    return key_bytes(f"{prefix}app:{escaped(app)}")


def beginning(prefix: str, app: str, user: str | None) -> str:
    """Return what the keys of a user's sessions begin with; None: of all users'."""
    all_users = f"{prefix}session:{escaped(app)}:"
    return all_users if user is None else f"{all_users}{escaped(user)}:"


def place_of(prefix: str, app: str, key: str) -> Place:
    """Return the place of a session whose key was listed."""
    user, _, id_ = key[len(beginning(prefix, app, None)) :].partition(":")
    return Place(prefix, app, unquote(user), unquote(id_))
