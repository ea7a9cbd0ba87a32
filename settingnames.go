package turnlog

import "regexp"

// settingNames has the fields of Config by the names that `turnlog serve` gives the settings.
var settingNames = map[string]string{
	"data-dir":         "Dir",
	"node-id":          "NodeID",
	"election-timeout": "ElectionTimeout",
	"memory-budget":    "MemoryBudget",

	"raft-addr":           "Peers.Addr",
	"raft-advertise":      "Peers.Advertise",
	"initial-cluster":     "Peers.InitialCluster",
	"join":                "Peers.Join",
	"zone":                "Peers.Zone",
	"leader-preference":   "Peers.LeaderPreference",
	"node-tls-cert":       "Peers.TLSCert",
	"node-tls-key":        "Peers.TLSKey",
	"node-tls-ca":         "Peers.TLSCA",
	"cluster-secret-file": "Peers.SecretFile",

	"resp-addr":      "Servers.RESPAddr",
	"http-addr":      "Servers.HTTPAddr",
	"resp-advertise": "Servers.RESPAdvertise",
	"http-advertise": "Servers.HTTPAdvertise",
	"users-file":     "Servers.UsersFile",
	"tls-cert":       "Servers.TLSCert",
	"tls-key":        "Servers.TLSKey",
	"tls-client-ca":  "Servers.TLSClientCA",
	"insecure":       "Servers.Insecure",
}

// wordOfError is what may be the name of a setting: all of what is between spaces and punctuation, so
// that a part of a file's name is none; or a quoted value, which is none.
var wordOfError = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s",:;()]+`)

// configError is an error of the node's settings, which names the fields of Config in their place.
type configError struct{ error }

func (e configError) Error() string {
	return wordOfError.ReplaceAllStringFunc(e.error.Error(), func(word string) string {
		name := word
		if len(word) > 2 && word[:2] == "--" {
			name = word[2:]
		} else if word == "join" || word == "insecure" { // words of sentences, too
			return word
		}
		if field, ok := settingNames[name]; ok {
			return field
		}
		return word
	})
}

// Unwrap implements errors.Unwrap.
func (e configError) Unwrap() error { return e.error }
