package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/turnlog/turnlog/internal/vfs"
)

// Draft is a users file being changed by a program: comments and the order of
// users stay. Save replaces the file.
type Draft struct {
	path  string
	old   []byte // the file as it was read; nil: there was none
	doc   yaml.Node
	users *yaml.Node // the list
}

// ErrBusy is the error of Draft.Save if somebody else changes the file.
var ErrBusy = errors.New("the users file is being changed by another process, or a change was interrupted")

// Edit reads a users file to change it; one that does not exist yet is empty.
func Edit(path string) (*Draft, error) {
	text, err := os.ReadFile(path)
	d := &Draft{path: path, old: text}
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("version: "+fileVersion+"\nusers: []\n"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("users file: %w", err)
	}
	if _, err := parse(text); err != nil {
		return nil, fmt.Errorf("users file %s: %w", path, err)
	}
	if err := yaml.Unmarshal(text, &d.doc); err != nil {
		return nil, fmt.Errorf("users file %s: %w", path, err)
	}
	root := d.doc.Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "users" {
			d.users = root.Content[i+1]
		}
	}
	if d.users == nil {
		d.users = &yaml.Node{Kind: yaml.SequenceNode}
		root.Content = append(root.Content, scalarNode("users"), d.users)
	}
	d.users.Style = 0
	return d, nil
}

// List returns the users, in the order of the file, and how many passwords each has.
func (d *Draft) List() (users []*User, passwords []int, err error) {
	for _, n := range d.users.Content {
		u, err := parseUser(n)
		if err != nil {
			return nil, nil, err
		}
		users, passwords = append(users, u), append(passwords, len(u.passwords))
	}
	return users, passwords, nil
}

// Add adds a user with a password that HashPassword has made.
func (d *Draft) Add(u User, hash string) error {
	if err := checkName(u.Name); err != nil {
		return err
	}
	if d.find(u.Name) >= 0 {
		return fmt.Errorf("user %s exists already", u.Name)
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	n.Content = append(n.Content,
		scalarNode("name"), scalarNode(u.Name),
		scalarNode(d.word()), listNode(0, hash),
		scalarNode("right"), scalarNode(u.Right.String()),
		scalarNode("namespaces"), listNode(yaml.FlowStyle, u.Namespaces...))
	if u.Prefixes != nil {
		n.Content = append(n.Content, scalarNode("prefixes"), listNode(yaml.FlowStyle, u.Prefixes...))
	}
	if u.Channels != nil {
		n.Content = append(n.Content, scalarNode("channels"), listNode(yaml.FlowStyle, u.Channels...))
	}
	d.users.Content = append(d.users.Content, n)
	_, err := parseUser(n)
	return err
}

// word is what the file calls the field passwords.
func (d *Draft) word() string {
	if slices.ContainsFunc(d.users.Content, func(n *yaml.Node) bool { return field(n, oldPasswords) != nil }) {
		return oldPasswords
	}
	return "passwords"
}

// AddPassword gives a user another password, beside those before or, with only,
// instead of them.
func (d *Draft) AddPassword(name, hash string, only bool) error {
	i := d.find(name)
	if i < 0 {
		return fmt.Errorf("there is no user %s", name)
	}
	list := field(d.users.Content[i], "passwords")
	if list == nil {
		list = field(d.users.Content[i], oldPasswords)
	}
	if only {
		list.Content = nil
	}
	if len(list.Content) == maxPasswords {
		return fmt.Errorf("user %s has %d passwords, which is the maximum", name, maxPasswords)
	}
	list.Content = append(list.Content, scalarNode(hash))
	return nil
}

// Remove removes a user.
func (d *Draft) Remove(name string) error {
	i := d.find(name)
	if i < 0 {
		return fmt.Errorf("there is no user %s", name)
	}
	d.users.Content = append(d.users.Content[:i:i], d.users.Content[i+1:]...)
	return nil
}

func (d *Draft) find(name string) int {
	for i, n := range d.users.Content {
		if v := field(n, "name"); v != nil && v.Value == name {
			return i
		}
	}
	return -1
}

func scalarNode(s string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(s)
	return n
}

func listNode(style yaml.Style, items ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: style}
	for _, s := range items {
		item := scalarNode(s)
		if style == yaml.FlowStyle {
			item.Style = yaml.DoubleQuotedStyle
		}
		n.Content = append(n.Content, item)
	}
	return n
}

// Save writes the file, readable by its owner only, who stays the same: a reader sees it as it was or
// as it is now. The new file, written beside it, keeps others from saving at the
// same time. If somebody has since Edit, the error is ErrBusy.
func (d *Draft) Save() (err error) {
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(2)
	if err := enc.Encode(&d.doc); err != nil {
		return err
	}
	if _, err := parse(text.Bytes()); err != nil {
		return fmt.Errorf("the change would make the users file unreadable: %w", err)
	}
	name := d.path + ".new"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: in that case, remove %s", ErrBusy, name)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(name)
		}
	}()
	if old, statErr := os.Stat(d.path); statErr == nil {
		if err := giveTo(f, old); err != nil {
			return errors.Join(
				fmt.Errorf("the new file cannot be given to the owner of the present one: %w", err), f.Close())
		}
	}
	_, err = f.Write(text.Bytes())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	now, err := os.ReadFile(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, d.old) {
		return fmt.Errorf("%w: it has changed since it was read; try again", ErrBusy)
	}
	if err := os.Rename(name, d.path); err != nil {
		return err
	}
	return vfs.OS{}.SyncDir(filepath.Dir(d.path))
}
