package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/turn"
)

// connecting runs a command line in which nothing but the context is given, and returns what it would connect with.
func connecting(t *testing.T, env map[string]string, args ...string) (a *App, password string, err error) {
	t.Helper()
	a = &App{Getenv: func(name string) string { return env[name] }, Stderr: os.Stderr}
	root := &cobra.Command{Use: "turnlog", RunE: func(*cobra.Command, []string) error {
		password, err = a.Login.Password(a.Getenv)
		return nil
	}}
	root.PersistentFlags().StringVar(&a.Addr, "addr", a.Env("TURNLOG_ADDR", "127.0.0.1:7379"), "")
	root.PersistentFlags().StringVar(&a.Namespace, "namespace", a.Env("TURNLOG_NAMESPACE", "0"), "")
	a.RegisterContext(root)
	a.Login.Register(root.PersistentFlags(), a.Getenv)
	if status := a.Execute(root, args); status != ExitOK {
		t.Fatalf("%q: status %d", args, status)
	}
	return a, password, err
}

func TestPasswordsOfContextsGoWithTheirUser(t *testing.T) {
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir()}
	contexts, err := (&App{Getenv: func(name string) string { return env[name] }}).Contexts()
	if err != nil {
		t.Fatal(err)
	}
	if err := contexts.Save("prod", Context{User: "ops", Password: "of ops", TLSCert: "c", TLSKey: "k"}); err != nil {
		t.Fatal(err)
	}
	if err := contexts.Select("prod"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args      []string
		password  string // TURNLOG_PASSWORD
		want      string
		cert, key string
	}{
		"context alone":      {nil, "", "of ops", "c", "k"},
		"environment":        {nil, "other", "other", "c", "k"},
		"same user":          {[]string{"--user", "ops"}, "", "of ops", "c", "k"},
		"another user":       {[]string{"--user", "me"}, "mine", "mine", "c", "k"},
		"no context":         {[]string{"--context", "none"}, "", "", "", ""},
		"half a certificate": {[]string{"--tls-cert", "mine"}, "", "of ops", "mine", ""},
	} {
		t.Run(name, func(t *testing.T) {
			env["TURNLOG_PASSWORD"] = c.password
			a, password, err := connecting(t, env, c.args...)
			if err != nil || password != c.want || a.Login.cert != c.cert || a.Login.key != c.key {
				t.Errorf("password %q, certificate %q, key %q, %v", password, a.Login.cert, a.Login.key, err)
			}
		})
	}
	env["TURNLOG_PASSWORD"] = ""
	if _, password, err := connecting(t, env, "--user", "me"); !IsUsage(err) || password != "" {
		t.Errorf("another user without a password: %q, %v", password, err)
	}
}

func TestContextsAreForTheirUserOnly(t *testing.T) {
	contexts := Contexts{filepath.Join(t.TempDir(), "turnlog")}
	if err := contexts.Save("prod", Context{Password: "s"}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{contexts.file("prod"): 0o600, contexts.dir: 0o700,
		filepath.Dir(contexts.file("prod")): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := os.Chmod(contexts.file("prod"), 0o640); err != nil {
		t.Fatal(err)
	}
	if x, err := contexts.Load("prod"); !IsUsage(err) {
		t.Errorf("a password that others can read: %+v, %v", x, err)
	}
}

// No name leads out of the folder, and a context that cannot be opened can still be removed, with its selection.
func TestRemovingContexts(t *testing.T) {
	contexts := Contexts{filepath.Join(t.TempDir(), "turnlog")}
	if err := contexts.Save("prod", Context{Addr: "127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(contexts.dir, "other.json")
	if err := os.WriteFile(other, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../other", "", NoContext, "."} {
		if err := contexts.Remove(name); !IsUsage(err) {
			t.Errorf("removing %q: %v", name, err)
		}
		if err := contexts.Save(name, Context{}); !IsUsage(err) {
			t.Errorf("saving %q: %v", name, err)
		}
		if err := contexts.Select(name); name != "" && !IsUsage(err) {
			t.Errorf("selecting %q: %v", name, err)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if err := os.Symlink("nowhere", contexts.file("dangling")); err != nil {
		t.Fatal(err)
	}
	if err := contexts.Select("dangling"); err != nil {
		t.Fatal(err)
	}
	if err := contexts.Remove("dangling"); err != nil {
		t.Error(err)
	}
	if names, err := contexts.Names(); err != nil || len(names) != 1 || names[0] != "prod" {
		t.Errorf("left: %q, %v", names, err)
	}
	if selected, err := contexts.Selected(); err != nil || selected != "" {
		t.Errorf("selected: %q, %v", selected, err)
	}
	if err := contexts.Remove("dangling"); !turn.Is(err, turn.NotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

// Contexts that an earlier version wrote call a password a secret.
func TestContextsOfAnEarlierVersion(t *testing.T) {
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir()}
	contexts, err := (&App{Getenv: func(name string) string { return env[name] }}).Contexts()
	if err != nil {
		t.Fatal(err)
	}
	if err := contexts.Save("old", Context{}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Context{
		`{"user":"ops","secret":"of ops"}`:         {User: "ops", Password: "of ops"},
		`{"user":"ops","secret_file":"file"}`:      {User: "ops", PasswordFile: "file"},
		`{"user":"ops","password_file":"file"}`:    {User: "ops", PasswordFile: "file"},
		`{"user":"ops","tls":true,"secret":"its"}`: {User: "ops", TLS: true, Password: "its"},
	} {
		if err := os.WriteFile(contexts.file("old"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if x, err := contexts.Load("old"); err != nil || x != want {
			t.Errorf("%s: %+v, %v", text, x, err)
		}
	}
}
