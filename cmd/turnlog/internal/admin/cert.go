package admin

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/auth/certs"
)

// certFlags are common to all `turnlog cert` commands.
type certFlags struct {
	dir   string
	days  int
	force bool
}

func certCommand(a *cli.App) *cobra.Command {
	cmd := cli.ParentCommand("cert", "Make certificates for tests and small clusters")
	cmd.Long = `Cert makes a certificate authority, and certificates that it signs. If there is
an authority already, use that one instead.

Keys are ECDSA (P-256). NAME.crt and NAME.key go to --dir; keep ca.key off the
nodes. A node shows its certificate to clients and to other nodes; for the latter
NAME must be its --node-id. A client's certificate is for listeners that ask for one
(--tls-client-ca); it is not accepted as a node's. Nodes notice new files within
seconds.`
	cmd.Example = `  turnlog cert ca
  turnlog cert node n1 --host 10.0.0.1 --host db1.example
  turnlog cert client support-bot
  turnlog serve --tls-cert certs/n1.crt --tls-key certs/n1.key --node-tls-ca certs/ca.crt …`
	cmd.AddCommand(
		certKind(a, "ca", "Make the authority: ca.crt and ca.key", certs.Authority, 3650),
		certKind(a, "node NAME", "Make the certificate of a node", certs.Node, 365),
		certKind(a, "client NAME", "Make the certificate of a client", certs.Client, 365))
	return cmd
}

func certKind(a *cli.App, use, short string, kind certs.Kind, days int) *cobra.Command {
	var hosts []string
	flags := certFlags{days: days}
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)}
	if kind == certs.Authority {
		cmd.Args = cobra.NoArgs
	}
	f := cmd.Flags()
	f.StringVar(&flags.dir, "dir", "certs", "directory of the files")
	f.IntVar(&flags.days, "days", days, "days until it expires, at most until its authority does")
	f.BoolVar(&flags.force, "force", false, "overwrite files")
	if kind == certs.Node {
		f.StringArrayVar(&hosts, "host", nil,
			"name or address by which clients or nodes reach the node; can be given several times (needed)")
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		name := "ca"
		if len(args) > 0 {
			name = args[0]
		}
		if name != filepath.Base(name) || kind != certs.Authority && name == "ca" {
			return cli.Usagef("NAME %q: must be usable as a file name, and must not be ca", name)
		}
		if flags.days < 1 {
			return cli.Usagef("--days must be positive")
		}
		if kind == certs.Node && len(hosts) == 0 {
			return cli.Usagef("--host is missing: the names and addresses by which the node is reached")
		}
		err := certs.Issue(certs.Request{Dir: flags.dir, Name: name, Kind: kind, Hosts: hosts, CA: "ca",
			From: time.Now(), For: time.Duration(flags.days) * 24 * time.Hour, Force: flags.force})
		if err != nil {
			return err
		}
		base := filepath.Join(flags.dir, name)
		fmt.Fprintf(a.Stdout, "%s.crt\n%s.key\n", base, base)
		return nil
	}
	return cmd
}
