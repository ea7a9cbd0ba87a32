package redis

import (
	"sort"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/glob"
)

// settings are what CONFIG GET shows: Redis's names for what holds here.
func (s *Server) settings() map[string]string {
	return map[string]string{
		"appendfsync":            "always",
		"appendonly":             "yes",
		"cluster-enabled":        "no",
		"databases":              strconv.Itoa(command.Databases),
		"maxclients":             strconv.Itoa(s.admission.Size()),
		"maxmemory":              "0",
		"maxmemory-policy":       "noeviction",
		"notify-keyspace-events": "",
		"port":                   s.port(),
		"proto-max-bulk-len":     "536870912",
		"replica-read-only":      "no",
		"save":                   "",
		"slave-read-only":        "no",
		"tcp-keepalive":          "60",
		"timeout":                "0",
	}
}

// configGet is CONFIG GET pattern ….
func configGet(c *conn, args [][]byte) command.Action {
	all := c.srv.settings()
	found := make(map[string]bool)
	for _, a := range args[2:] {
		pattern := strings.ToLower(string(a))
		if long := command.LongPattern(pattern); long != "" {
			return long
		}
		for name := range all {
			if glob.Match(pattern, name) {
				found[name] = true
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	return command.Reply(func(w *resp.Writer) {
		w.Map(len(names))
		for _, name := range names {
			w.BulkString(name)
			w.BulkString(all[name])
		}
	})
}

// configSet refuses: settings come from the command line and the configuration file.
func configSet(_ *conn, args [][]byte) command.Action {
	return command.Error("ERR Unknown option or number of arguments for CONFIG SET - '" +
		command.Clip(string(args[2]), 128) + "'")
}
