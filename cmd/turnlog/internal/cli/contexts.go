package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/turn"
)

// Context is a named set of what the commands connect with. An empty field says nothing.
type Context struct {
	Addr         string `json:"addr,omitempty"` // RESP addresses, separated by commas
	Namespace    string `json:"namespace,omitempty"`
	User         string `json:"user,omitempty"`
	Password     string `json:"password,omitempty"` // is written into the context's file, and never shown
	PasswordFile string `json:"password_file,omitempty"`
	TLS          bool   `json:"tls,omitempty"`
	TLSCA        string `json:"tls_ca,omitempty"`
	TLSCert      string `json:"tls_cert,omitempty"`
	TLSKey       string `json:"tls_key,omitempty"`
}

// storedContext is a context as its file has it, which earlier versions wrote with other words.
type storedContext struct {
	*Context
	Secret     string `json:"secret"`
	SecretFile string `json:"secret_file"`
}

// Contexts is the folder with a user's contexts, a file each, and beside them the name of the one that is
// selected. Processes may use it at the same time: each file is replaced as a whole.
type Contexts struct{ dir string }

// Contexts returns the contexts of the user who runs the program.
func (a *App) Contexts() (Contexts, error) {
	dir := a.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // which its specification has programs ignore
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return Contexts{}, fmt.Errorf("there is no folder for contexts: %w", err)
		}
	}
	return Contexts{filepath.Join(dir, "turnlog")}, nil
}

// contextName is what contexts can be called: every name is a file name on every system.
var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// CheckContextName returns why a context cannot be called that.
func CheckContextName(name string) error {
	if name == NoContext {
		return Usagef("%s is the name for no context", name)
	}
	if !contextName.MatchString(name) {
		return Usagef("context %q: a name has letters, digits, - and _, 64 at most, and begins with "+
			"a letter or a digit",
			name)
	}
	return nil
}

func (c Contexts) file(name string) string { return filepath.Join(c.dir, "contexts", name+".json") }

func (c Contexts) selection() string { return filepath.Join(c.dir, "selected-context") }

// Names returns the names of the contexts, in order.
func (c Contexts) Names() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(c.dir, "contexts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && CheckContextName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Load returns a context. The error is turn.NotFound if there is none of that name.
func (c Contexts) Load(name string) (x Context, err error) {
	if err := CheckContextName(name); err != nil {
		return x, err
	}
	path := c.file(name)
	f, err := os.Open(path)
	if err != nil {
		return x, notThere(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return x, fmt.Errorf("context %s: %w", name, err)
	}
	d := json.NewDecoder(f)
	d.DisallowUnknownFields() // a setting of a newer version, such as one for TLS, must not be passed over
	old := storedContext{Context: &x}
	if err := d.Decode(&old); err != nil {
		return x, Usagef("context %s: %s: %w", name, path, err)
	}
	x.Password, x.PasswordFile = cmp.Or(x.Password, old.Secret), cmp.Or(x.PasswordFile, old.SecretFile)
	if x.Password != "" && info.Mode().Perm()&0o077 != 0 {
		return x, Usagef("context %s: %s holds a password, and other users may read it: chmod 600 it, and give the "+
			"user another password", name, path)
	}
	return x, nil
}

// notThere says of a file that cannot be opened which context it would be.
func notThere(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return Unchanged(turn.Errorf(turn.NotFound, "context %s does not exist; see `turnlog context list`", name))
	}
	return fmt.Errorf("context %s: %w", name, err)
}

// LoadSelected returns the context that is selected, by its name. If its file is gone, the error says what to do.
func (c Contexts) LoadSelected(name string) (Context, error) {
	x, err := c.Load(name)
	if turn.KindOf(err) == turn.NotFound {
		err = Unchanged(turn.Errorf(turn.NotFound, "the selected context %s does not exist any more; select another "+
			"one with `turnlog context select NAME`, or none with `turnlog context select none`", name))
	}
	return x, err
}

// Save writes a context, for this user's eyes only, over one of the same name.
func (c Contexts) Save(name string, x Context) error {
	if err := CheckContextName(name); err != nil {
		return err
	}
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.file(name)), 0o700); err != nil {
		return err
	}
	return smallfile.Replace(c.file(name), append(text, '\n'))
}

// Remove removes a context, and its selection, also one whose file is gone already. The error is turn.NotFound if there
// is none of that name.
func (c Contexts) Remove(name string) error {
	if err := CheckContextName(name); err != nil {
		return err
	}
	selected, err := c.Selected()
	if err != nil {
		return err
	}
	_, missing := os.Lstat(c.file(name))
	if missing != nil && !(selected == name && errors.Is(missing, fs.ErrNotExist)) {
		return notThere(name, missing)
	}
	if selected == name {
		if err := c.Select(""); err != nil {
			return err
		}
	}
	if missing != nil {
		return nil
	}
	if err := os.Remove(c.file(name)); err != nil {
		return notThere(name, err)
	}
	return nil
}

// Selected returns the name of the selected context; empty: none is.
func (c Contexts) Selected() (string, error) {
	text, err := os.ReadFile(c.selection())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// Select selects a context for the commands that name none; empty: none.
func (c Contexts) Select(name string) error {
	if name == "" {
		if err := os.Remove(c.selection()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := CheckContextName(name); err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	return smallfile.Replace(c.selection(), []byte(name+"\n"))
}
