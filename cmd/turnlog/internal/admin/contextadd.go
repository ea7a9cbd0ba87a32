package admin

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func contextAddCommand(a *cli.App) *cobra.Command {
	ask, replace, selected := false, false, false
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Save connection settings from flags or environment as a context",
		Long: `Add keeps what --addr, --namespace, --user, --password-file, --tls, --tls-ca, --tls-cert and
--tls-key say, or else the variables of the environment that go with them. Addresses
are needed, and a user for --password-file. Files are kept by name, and must be readable.
TURNLOG_PASSWORD is not kept: give --password-file, or --ask for a password that is written into the
context's file. With --replace, nothing of the context before is kept. Add prints what it
saved, except a password.`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.BoolVar(&ask, "ask", false,
		"read the user's password from the terminal, or else a line of standard input, and keep it")
	f.BoolVar(&replace, "replace", false, "replace the context of that name")
	f.BoolVar(&selected, "select", false, "and select it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := args[0]
		if err := cli.CheckContextName(name); err != nil {
			return err
		}
		contexts, err := a.Contexts()
		if err != nil {
			return err
		}
		if _, err := contexts.Load(name); turn.KindOf(err) != turn.NotFound && !replace {
			return cli.Unchanged(turn.Errorf(turn.Exists, "context %s already exists; give --replace to overwrite it",
				name))
		}
		if !cmd.Flags().Changed("addr") && a.Getenv("TURNLOG_ADDR") == "" {
			return cli.Usagef("context %s needs addresses: give --addr, or set TURNLOG_ADDR; nothing was saved", name)
		}
		x, err := contextToKeep(a, ask)
		if err != nil {
			return err
		}
		return saveContext(a, contexts, name, x, selected)
	}
	return cmd
}

// saveContext saves a context, selects it if so asked, and shows it.
func saveContext(a *cli.App, contexts cli.Contexts, name string, x cli.Context, selected bool) error {
	if err := contexts.Save(name, x); err != nil {
		return err
	}
	if selected {
		if err := contexts.Select(name); err != nil {
			return cli.Partly(err, "Context %s was saved, and not selected.", name)
		}
	}
	s, err := showContext(contexts, name)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(s)
	}
	if err := writeContext(a, s); err != nil || !selected {
		return err
	}
	return writeSelected(a, name)
}

// checkContext returns why a context would connect to nothing.
func checkContext(x cli.Context) error {
	addrs := cli.SplitAddrs(x.Addr)
	if len(addrs) == 0 {
		return cli.Usagef("--addr %q: it has no address", x.Addr)
	}
	for _, addr := range addrs {
		host, port, err := net.SplitHostPort(addr)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || host == "" || perr != nil || n == 0 {
			return cli.Usagef("--addr %q: must be host:port, the port a number from 1 to 65535", addr)
		}
	}
	if x.PasswordFile == "" {
		return nil
	}
	if x.User == "" {
		return cli.Usagef("--password-file needs --user: whose password it is")
	}
	text, err := os.ReadFile(x.PasswordFile)
	if err != nil {
		return cli.Usagef("--password-file: %w", err)
	}
	if strings.TrimRight(string(text), "\r\n") == "" {
		return cli.Usagef("--password-file: %s is empty", x.PasswordFile)
	}
	return nil
}

// contextToKeep is what flags and environment say, with the names of files as any working directory has them.
func contextToKeep(a *cli.App, ask bool) (x cli.Context, err error) {
	x = a.Settings()
	if ask && x.PasswordFile != "" {
		return x, cli.Usagef("--ask and --password-file: give one of them")
	}
	if err := checkContext(x); err != nil {
		return x, err
	}
	if _, err := a.Login.TLS(); err != nil { // files that cannot be read are not kept
		return x, err
	}
	for _, file := range []*string{&x.PasswordFile, &x.TLSCA, &x.TLSCert, &x.TLSKey} {
		if *file != "" {
			if *file, err = filepath.Abs(*file); err != nil {
				return x, err
			}
		}
	}
	if !ask {
		return x, nil
	}
	if x.Password, err = askPassword(a, x.User); err == nil && x.Password == "" {
		err = cli.Usagef("the password is empty; nothing was changed")
	}
	return x, err
}
