package auth

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// fileVersion is the version of the users file that is read and written.
const fileVersion = "1"

// oldPasswords is what the field passwords was called first. Files that have it are read, and keep it when they are
// changed, so that nodes of both versions read them.
const oldPasswords = "secrets"

// maxPasswords is how many passwords a user may have at a time: each makes a wrong one
// dearer to refuse.
const maxPasswords = 4

// parse reads a users file. Its errors name the line.
func parse(text []byte) (map[string]*User, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("the file is empty; it begins with `version: %s`", fileVersion)
	}
	users := make(map[string]*User)
	version := ""
	err := eachField(doc.Content[0], func(name string, v *yaml.Node) (err error) {
		switch name {
		case "version":
			version, err = textOf(v)
			if err == nil && version != fileVersion {
				err = at(v, "the file has version %s, this turnlog reads version %s", version, fileVersion)
			}
		case "users":
			err = eachItem(v, func(v *yaml.Node) error {
				u, err := parseUser(v)
				switch {
				case err != nil:
					return err
				case users[u.Name] != nil:
					return at(v, "user %s occurs twice", u.Name)
				}
				users[u.Name] = u
				return nil
			})
		default:
			err = at(v, "unknown field %q", name)
		}
		return err
	})
	if err == nil && version == "" {
		err = at(doc.Content[0], "`version: %s` is missing", fileVersion)
	}
	return users, err
}

func parseUser(n *yaml.Node) (*User, error) {
	u := new(User)
	if old := field(n, oldPasswords); old != nil && field(n, "passwords") != nil {
		return nil, at(old, "passwords, and %s, which they were called first: keep one of the two", oldPasswords)
	}
	err := eachField(n, func(name string, v *yaml.Node) (err error) {
		switch name {
		case "name":
			if u.Name, err = textOf(v); err == nil {
				err = wrap(v, checkName(u.Name))
			}
		case "passwords", oldPasswords:
			err = eachItem(v, func(v *yaml.Node) error { return u.addPassword(v) })
		case "right":
			word, err := textOf(v)
			if err != nil {
				return err
			}
			var ok bool
			if u.Right, ok = ParseRight(word); !ok {
				return at(v, "right %q: must be read, write or admin", word)
			}
		case "namespaces":
			u.Namespaces, err = textsOf(v)
		case "prefixes":
			u.Prefixes, err = limitsOf(v, "key", "every key")
		case "channels":
			u.Channels, err = textsOf(v)
		default:
			err = at(v, "unknown field %q", name)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case u.Name == "":
		return nil, at(n, "a user without a name")
	case len(u.passwords) == 0:
		return nil, at(n, "user %s has no password", u.Name)
	case u.Right == None:
		return nil, at(n, "user %s has no right: read, write or admin", u.Name)
	case u.Namespaces == nil:
		return nil, at(n, `user %s has no namespaces; ["*"] is every one`, u.Name)
	}
	return u, nil
}

func (u *User) addPassword(v *yaml.Node) error {
	text, err := textOf(v)
	if err != nil {
		return err
	}
	if len(u.passwords) == maxPasswords {
		return at(v, "more than %d passwords of one user", maxPasswords)
	}
	h, err := parseHash(text)
	u.passwords = append(u.passwords, &password{hashed: h, text: text})
	return wrap(v, err)
}

// field returns the value of a field of a mapping; nil: it has none.
func field(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// checkName refuses names that some API could not carry: in HTTP, a colon ends
// a user's name.
func checkName(name string) error {
	ok := len(name) >= 1 && len(name) <= 64
	for i := range len(name) {
		ok = ok && name[i] > ' ' && name[i] < 0x7f && name[i] != ':'
	}
	if !ok {
		return fmt.Errorf("user name %.70q: must be 1 to 64 printable ASCII characters without spaces and colons", name)
	}
	return nil
}

// limitsOf reads a list that limits something, and so must not be empty by
// mistake, nor hold what limits nothing.
func limitsOf(v *yaml.Node, what, all string) ([]string, error) {
	list, err := textsOf(v)
	if err == nil && (len(list) == 0 || slices.Contains(list, "")) {
		err = at(v, "a list of prefixes without an element, or with an empty one; leave it out to allow %s", all)
	}
	return list, err
}

// The rest walks YAML and says where it is.

func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

func wrap(n *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	return at(n, "%v", err)
}

func eachField(n *yaml.Node, field func(name string, v *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "a mapping, `name: value`, is wanted here")
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		if seen[name.Value] {
			return at(name, "%s occurs twice", name.Value)
		}
		seen[name.Value] = true
		if err := field(name.Value, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func eachItem(n *yaml.Node, item func(*yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode {
		return at(n, "a list is wanted here")
	}
	for _, v := range n.Content {
		if err := item(v); err != nil {
			return err
		}
	}
	return nil
}

func textOf(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", at(n, "a text is wanted here")
	}
	return n.Value, nil
}

// textsOf reads a list of texts; it is not nil.
func textsOf(n *yaml.Node) ([]string, error) {
	list := []string{}
	err := eachItem(n, func(v *yaml.Node) error {
		s, err := textOf(v)
		list = append(list, s)
		return err
	})
	return list, err
}
