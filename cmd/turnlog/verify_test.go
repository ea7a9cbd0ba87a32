package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// verifyOutcome is what these tests read of verify's JSON.
type verifyOutcome struct {
	Holds    bool
	Broken   []string
	Note     string
	Cases    []struct{ Case, Incident, Proves, Status, Detail string }
	Accuracy []struct {
		Restart string
		After   float64 `json:"after_percent"`
	}
}

func verifyJSON(t *testing.T, r result) verifyOutcome {
	t.Helper()
	var o verifyOutcome
	if err := json.Unmarshal([]byte(r.stdout), &o); err != nil {
		t.Fatalf("%v in %q\n%s", err, r.stdout, r.stderr)
	}
	return o
}

func TestVerifyList(t *testing.T) {
	c := shell{t, "127.0.0.1:1"}
	table := c.ok("verify", "--list")
	var cases []struct {
		Case, Incident, Proves string
		Seed                   uint64
	}
	if err := json.Unmarshal([]byte(c.ok("verify", "--list", "--json")), &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 40 {
		t.Errorf("%d cases", len(cases))
	}
	for _, k := range cases {
		if k.Incident == "" || k.Seed == 0 || !strings.Contains(table, fmt.Sprint(k.Seed)) ||
			!strings.Contains(table, k.Case) || !strings.Contains(table, k.Proves) {
			t.Errorf("%+v", k)
		}
	}
}

// TestVerifyTurnlog: a cluster of its own keeps the contract: three nodes, one,
// three through each of them, and three whose leader is killed again and again. The
// long form runs everything.
func TestVerifyTurnlog(t *testing.T) {
	const some = "roundtrip,many-handles,concurrency/processes,similar-keys,save-cut-after,reply-lost,one-winner,"
	for _, tt := range []struct{ target, cases string }{
		{"turnlog:", some + "leader-killed-while-saving,node-replaced"},
		{"turnlog:?nodes=1", some + "kill-while-saving"},
		{"turnlog:?through=n1", some},
		{"turnlog:?through=n2", some},
		{"turnlog:?through=n3", some},
		{"turnlog:?kill-leader=200ms",
			some + "many-turns,concurrency/linearizable,conflict/linearizable,flaky-connection"},
	} {
		t.Run(tt.target, func(t *testing.T) {
			args := []string{"verify", tt.target, "--json", "--turns", "10", "--case",
				strings.TrimSuffix(tt.cases, ",")}
			if os.Getenv("TURNLOG_LONG") != "" {
				args = []string{"verify", strings.Replace(tt.target, "200ms", "4s", 1), "--json",
					"--min-accuracy", "100"}
			} else {
				t.Parallel()
			}
			start := time.Now()
			killing := strings.Contains(tt.target, "kill-leader")
			r := shell{t, "127.0.0.1:1"}.run(args...)
			o := verifyJSON(t, r)
			for tries := 0; killing && strings.HasSuffix(o.Note, " 0 times") && tries < 5; tries++ {
				r = shell{t, "127.0.0.1:1"}.run(args...) // the cases were over before there was a leader to kill
				o = verifyJSON(t, r)
			}
			if r.status != cli.ExitOK || !o.Holds {
				t.Errorf("status %d: %s", r.status, r.stderr)
			}
			passed := 0
			for _, k := range o.Cases {
				switch k.Status {
				case "pass":
					passed++
				case "not supported": // one node cannot lose one
				default:
					t.Errorf("%s: %s: %s", k.Case, k.Status, k.Detail)
				}
			}
			for _, a := range o.Accuracy {
				if a.After != 100 {
					t.Errorf("accuracy after %s: %.1f %%", a.Restart, a.After)
				}
			}
			if killing && (o.Note == "" || strings.HasSuffix(o.Note, " 0 times")) {
				t.Errorf("no leader was killed: %q", o.Note)
			}
			if d := time.Since(start); d > 2*time.Minute && !killing {
				t.Errorf("took %s", d)
			}
			t.Logf("%d of %d cases hold, in %s; %s %v", passed, len(o.Cases), time.Since(start), o.Note, o.Accuracy)
		})
	}
}

// TestVerifyEveryAPI: a running node keeps the contract through each of its APIs, and over HTTP no less of it
// than through the client.
func TestVerifyEveryAPI(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	native, http := "turnlog://"+n.addr, "http://"+n.http
	unsupported := map[string][]string{}
	for _, target := range []string{native, http, "redis://" + n.addr} {
		o := verifyJSON(t, n.run("verify", target, "--json", "--turns", "8", "--gate",
			"sequential,concurrency,retry,conflict"))
		for _, k := range o.Cases {
			switch k.Status {
			case "pass":
			case "not supported":
				unsupported[target] = append(unsupported[target], k.Case)
			default:
				t.Errorf("%s: %s: %s: %s", target, k.Case, k.Status, k.Detail)
			}
		}
	}
	if !slices.Equal(unsupported[http], unsupported[native]) {
		t.Errorf("not supported over HTTP: %q\nthrough the client: %q", unsupported[http], unsupported[native])
	}
}

// TestVerifyVerdicts: what is required decides the exit status.
func TestVerifyVerdicts(t *testing.T) {
	t.Parallel()
	c := shell{t, "127.0.0.1:1"}
	junit := filepath.Join(t.TempDir(), "contract.xml")
	c.ok("verify", "memory:", "--gate", "sequential,conflict", "--require", "conflict", "--seed", "7")
	c.ok("verify", "memory:", "--case", "restart/stop,roundtrip", "--require", "sequential")
	c.fails(cli.ExitFailed, "the contract does not hold", "verify", "memory:", "--case", "roundtrip,restart/stop",
		"--junit", junit)
	c.fails(cli.ExitFailed, "the contract does not hold", "verify", "memory:", "--case", "roundtrip", "--require",
		"concurrency")
	c.fails(cli.ExitFailed, "the contract does not hold", "verify", "memory:", "--case", "roundtrip",
		"--min-accuracy", "95")
	var suites struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Failure string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	text, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	if len(suites.Suites) != 2 || suites.Suites[0].Failures != 0 || suites.Suites[1].Failures != 1 ||
		!strings.Contains(suites.Suites[1].Cases[0].Failure, "lost: writer 1 turn 1") {
		t.Errorf("JUnit: %+v", suites)
	}
	r := c.run("verify", "memory:", "--json", "--case", "restart/stop", "--accuracy")
	if o := verifyJSON(t, r); r.status != cli.ExitFailed || o.Holds || len(o.Broken) != 1 || len(o.Accuracy) != 2 ||
		o.Accuracy[0].After > 90 {
		t.Errorf("status %d: %+v", r.status, o)
	}
}

func TestVerifyUsage(t *testing.T) {
	c := shell{t, "127.0.0.1:1"}
	for _, args := range [][]string{
		{}, {"memory:", "more"}, {"memory:", "--gate", "nosuch"}, {"memory:", "--case", "nosuch"},
		{"memory:", "--require", "nosuch"},
		{"memory:", "--writers", "0"}, {"memory:", "--min-accuracy", "101"}, {"nosuch:"}, {"turnlog:?nodes=2"},
		{"turnlog:?through=n4"}, {"turnlog:?nodes=1&through=n2"}, {"turnlog:?kill-leader=often"},
		{"redis://127.0.0.1:1?layout=nosuch"}, {"redis://127.0.0.1:1?nosuch=1"},
	} {
		if r := c.run(append([]string{"verify"}, args...)...); r.status != cli.ExitUsage {
			t.Errorf("%q: status %d: %s", args, r.status, r.stderr)
		}
	}
	c.fails(cli.ExitFailed, "does not answer", "verify", "redis://127.0.0.1:1")
}
