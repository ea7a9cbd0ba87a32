// Package clients holds docs/clients.md to the operations of the Go client, the routes of the HTTP API and the Redis
// commands. sdk/python/tests/test_clients_page.py and sdk/typescript/test/clients.test.ts hold it to the packages.
package clients

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

var inCode = regexp.MustCompile("`([^`]+)`")

// column returns what the page's tables name in the column of that title.
func column(t *testing.T, title string) (names []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 3 {
			at = -1
			continue
		}
		if at < 0 {
			at = slices.IndexFunc(cells, func(c string) bool { return strings.TrimSpace(c) == title })
		}
		if at < 0 {
			continue
		}
		for _, m := range inCode.FindAllStringSubmatch(cells[at], -1) {
			names = append(names, m[1])
		}
	}
	if len(names) < 20 {
		t.Fatalf("the page names too little under %s: %q", title, names)
	}
	return names
}

// compare reports what one of the two lacks.
func compare(t *testing.T, page, real []string) {
	t.Helper()
	for _, name := range page {
		if !slices.Contains(real, name) {
			t.Errorf("docs/clients.md names %s, which does not exist", name)
		}
	}
	for _, name := range real {
		if !slices.Contains(page, name) {
			t.Errorf("docs/clients.md lacks %s", name)
		}
	}
}

func TestGo(t *testing.T) {
	_ = client.New
	names := []string{"New"}
	for _, v := range []any{&client.Client{}, client.Session{}, client.Hash{}, &client.Transaction{}} {
		of := reflect.TypeOf(v)
		for m := range of.Methods() {
			names = append(names, reflect.Indirect(reflect.ValueOf(v)).Type().Name()+"."+m.Name)
		}
	}
	for f := range reflect.TypeFor[client.Config]().Fields() {
		names = append(names, "Config."+f.Name)
	}
	for f := range reflect.TypeFor[turn.Read]().Fields() {
		if f.Name != "Key" { // it is the session's
			names = append(names, "turn.Read."+f.Name)
		}
	}
	compare(t, column(t, "Go"), names)
}

func TestHTTP(t *testing.T) {
	text, err := os.ReadFile("../../internal/server/httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]any
	}
	if err := yaml.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	var routes []string
	for path, methods := range api.Paths {
		for method := range methods {
			operates := strings.HasPrefix(path, "/v1/cluster/") // for which there is the command line
			if strings.HasPrefix(path, "/v1/") && !operates && method != "parameters" && method != "summary" {
				routes = append(routes, strings.ToUpper(method)+" "+path)
			}
		}
	}
	var named []string
	for _, name := range column(t, "HTTP") {
		if strings.Contains(name, " /") {
			named = append(named, name)
			continue
		}
		field := regexp.MustCompile(`name: ` + name + `\b|\b` + name + `: `)
		if !field.Match(text) {
			t.Errorf("docs/clients.md names the field %s, which no route has", name)
		}
	}
	compare(t, named, routes)
}

func TestRedis(t *testing.T) {
	table := command.NewTable()
	var named, real []string
	for _, name := range column(t, "Redis") {
		words := strings.Fields(name)
		named = append(named, words[0])
		cmd := table.Lookup(words[0])
		if cmd == nil {
			continue
		}
		for _, word := range words[1:] {
			if !slices.Contains(regexp.MustCompile(`[A-Z]+`).FindAllString(cmd.Args, -1), word) {
				t.Errorf("docs/clients.md names %s, but its arguments are %s", name, cmd.Args)
			}
		}
	}
	for _, cmd := range table.Slots {
		name := strings.ToUpper(cmd.Name)
		ofConnection := name == "TURN.NS" || name == "TURN.TRACE" // which a client's settings send
		if strings.HasPrefix(name, "TURN.") && !ofConnection {
			real = append(real, name)
		}
	}
	compare(t, named, append(real, "HSET", "HDEL", "HMGET", "HGETALL"))
}
