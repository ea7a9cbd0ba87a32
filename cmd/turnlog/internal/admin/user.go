package admin

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/config/flags"
)

func userCommand(a *cli.App) *cobra.Command {
	cmd := cli.ParentCommand("user", "Manage the users of a node")
	cmd.Long = `User edits the users file of a node, which ` + "`turnlog serve --users-file`" + ` reads. The
file holds hashes of passwords, not passwords. Every node reads a file of its own: copy
it to all of them, then send each SIGHUP. Until then nothing changes.

A user has one right (read; write, which includes it; admin, which includes both
and looks after the cluster), in some namespaces, and for some keys: those that
begin with one of the user's prefixes. Redis clients use the name and the password with
AUTH, HTTP clients as Basic or Bearer credentials, turnlog's commands with --user.
Redis clients that give only a password are the user "default".`
	cmd.Example = `  turnlog user add support-bot --right write --allow-namespace 0 --allow-prefix chat:
  turnlog user add default --right admin --allow-namespace '*' --ask
  turnlog user list
  turnlog user password support-bot          # another password; the old one still works
  turnlog user password support-bot --only   # another password, and no old one
  turnlog user remove support-bot
  pkill -HUP -f 'turnlog serve'             # the nodes only: other commands end on SIGHUP`
	cmd.AddCommand(userAddCommand(a), userPasswordCommand(a), userListCommand(a), userRemoveCommand(a))
	return cmd
}

// usersFile is --file.
func usersFile(a *cli.App, cmd *cobra.Command) *string {
	file := new(string)
	name := flags.EnvName("users-file")
	cmd.Flags().StringVar(file, "file", a.Env(name, "users.yaml"), "the users file ("+name+")")
	return file
}

func userAddCommand(a *cli.App) *cobra.Command {
	u := auth.User{}
	right, ask := "", false
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user; a password is generated and shown once, unless --ask",
		Args:  cobra.ExactArgs(1),
	}
	file := usersFile(a, cmd)
	f := cmd.Flags()
	f.StringVar(&right, "right", "write", "read, write or admin")
	f.StringArrayVar(&u.Namespaces, "allow-namespace", []string{},
		"namespace that the user may use, * for all; can be given several times; needed unless --right is admin")
	f.StringArrayVar(&u.Prefixes, "allow-prefix", nil,
		"allow only keys with this prefix; can be given several times (default: every key)")
	f.StringArrayVar(&u.Channels, "allow-channel", nil,
		"allow only channels with this prefix; can be given several times (default: as namespaces and prefixes say)")
	askFlag(cmd, &ask)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		var ok bool
		if u.Right, ok = auth.ParseRight(right); !ok {
			return cli.Usagef("--right %s: must be read, write or admin", right)
		}
		if len(u.Namespaces) == 0 && u.Right != auth.Admin {
			return cli.Usagef("--allow-namespace is missing: user %s could do nothing; * is every namespace, 0 the "+
				"one where clients begin", args[0])
		}
		u.Name = args[0]
		return changePassword(a, *file, ask, u.Name, func(d *auth.Draft, hash string) error { return d.Add(u, hash) })
	}
	return cmd
}

func askFlag(cmd *cobra.Command, ask *bool) {
	cmd.Flags().BoolVar(ask, "ask", false,
		"read the password from the terminal, or else a line of standard input, instead of making one")
}

func userPasswordCommand(a *cli.App) *cobra.Command {
	only, ask := false, false
	cmd := &cobra.Command{
		Use: "password NAME", SuggestFor: []string{"secret"},
		Short: "Give a user another password, in addition to the old one or in its place",
		Args:  cobra.ExactArgs(1),
	}
	file := usersFile(a, cmd)
	cmd.Flags().BoolVar(&only, "only", false, "take the old passwords away")
	askFlag(cmd, &ask)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return changePassword(a, *file, ask, args[0],
			func(d *auth.Draft, hash string) error { return d.AddPassword(args[0], hash, only) })
	}
	return cmd
}

// changePassword changes the users file with the hash of a password, and shows the
// password if it was made here.
func changePassword(a *cli.App, file string, ask bool, name string, change func(*auth.Draft, string) error) error {
	d, err := auth.Edit(file)
	if err != nil {
		return err
	}
	password := auth.NewPassword()
	if ask {
		if password, err = askPassword(a, name); err != nil {
			return err
		}
	}
	hash, err := auth.HashPassword(password, rand.Reader)
	if err != nil {
		return cli.Usage(err)
	}
	if err := change(d, hash); err != nil {
		return cli.Usage(err)
	}
	if err := d.Save(); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "%s: changed. Nodes read it when they start, and on SIGHUP.\n", file)
	switch {
	case ask:
	case a.JSON:
		return a.WriteJSON(map[string]string{"user": name, "password": password})
	default:
		fmt.Fprintf(a.Stderr, "The password of %s, which is shown this once:\n", name)
		fmt.Fprintln(a.Stdout, password)
	}
	return nil
}

// askPassword asks twice at a terminal; elsewhere it reads a line.
func askPassword(a *cli.App, name string) (string, error) {
	if !cli.IsTerminal(a.Stdin) {
		line, err := bufio.NewReader(a.Stdin).ReadString('\n')
		if err != nil && err != io.EOF {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	terminal := int(a.Stdin.(*os.File).Fd())
	var given [2][]byte
	for i, prompt := range []string{"Password of " + name + ": ", "Once more: "} {
		fmt.Fprint(a.Stderr, prompt)
		var err error
		given[i], err = term.ReadPassword(terminal)
		fmt.Fprintln(a.Stderr)
		if err != nil {
			return "", err
		}
	}
	if string(given[0]) != string(given[1]) {
		return "", cli.Usagef("the two passwords differ; nothing was changed")
	}
	return string(given[0]), nil
}

func userListCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "Show the users of a file", Args: cobra.NoArgs}
	file := usersFile(a, cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		d, err := auth.Edit(*file)
		if err != nil {
			return err
		}
		users, passwords, err := d.List()
		if err != nil {
			return err
		}
		rows := [][]string{{"USER", "RIGHT", "NAMESPACES", "KEYS", "CHANNELS", "PASSWORDS"}}
		for i, u := range users {
			if a.JSON {
				err := a.WriteJSON(map[string]any{"name": u.Name, "right": u.Right.String(), "namespaces": u.Namespaces,
					"prefixes": u.Prefixes,
					"channels": u.Channels, "passwords": passwords[i]})
				if err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []string{u.Name, u.Right.String(), listed(u.Namespaces, "", "none"),
				listed(u.Prefixes, "*", "all"),
				listed(u.Channels, "*", "see --help"), strconv.Itoa(passwords[i])})
		}
		if a.JSON {
			return nil
		}
		return a.Table(rows)
	}
	return cmd
}

// listed shows a list on a line of a table.
func listed(items []string, after, none string) string {
	if len(items) == 0 {
		return none
	}
	shown := make([]string, len(items))
	for i, s := range items {
		shown[i] = cli.Printable([]byte(s)) + after
	}
	return strings.Join(shown, " ")
}

func userRemoveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "remove NAME", Short: "Remove a user", Args: cobra.ExactArgs(1)}
	file := usersFile(a, cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		d, err := auth.Edit(*file)
		if err != nil {
			return err
		}
		if err := d.Remove(args[0]); err != nil {
			return cli.Usage(err)
		}
		if err := d.Save(); err != nil {
			return err
		}
		fmt.Fprintf(a.Stderr, "%s: user %s is gone from it. Nodes read it when they start, and on SIGHUP.\n",
			*file, args[0])
		return nil
	}
	return cmd
}
