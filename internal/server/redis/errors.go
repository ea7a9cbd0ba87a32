package redis

import "github.com/turnlog/turnlog/internal/server/redis/command"

// Redis's own texts about connections, which clients compare.
const (
	errNotInt32   command.Error = "ERR value is out of range, value must between -2147483648 and 2147483647"
	errDBRange    command.Error = "ERR DB index is out of range"
	errMaxClients command.Error = "ERR max number of clients reached"
	errWrongPass  command.Error = "WRONGPASS invalid username-password pair or user is disabled."
	errNoPassword command.Error = "ERR AUTH <password> called without any password configured for the default " +
		"user. Are you sure your configuration is correct?"
	errNoProto      command.Error = "NOPROTO unsupported protocol version"
	errClientName   command.Error = "ERR Client names cannot contain spaces, newlines or special characters."
	errNoSuchClient command.Error = "ERR No such client"
	errUnblocked    command.Error = "UNBLOCKED client unblocked via CLIENT UNBLOCK"
	errNoAuthHello  command.Error = "NOAUTH HELLO must be called with the client already authenticated, otherwise " +
		"the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol " +
		"version at the same time"
)
