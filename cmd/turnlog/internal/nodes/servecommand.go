package nodes

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/config/flags"
)

func serveCommand(a *cli.App) *cobra.Command {
	cfg := config.Default()
	settings := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.Register(settings, &cfg)
	file := ""
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node",
		Long: `Serve runs one node: alone, or as a member of a cluster when --initial-cluster names
all of its nodes. The command line is the same on every start; the first start of the
nodes creates the cluster.

Each setting can come from four places; the first of them wins:
  1. the command line        --data-dir /var/lib/turnlog
  2. the environment         TURNLOG_DATA_DIR=/var/lib/turnlog
  3. a YAML file (--config)  data-dir: /var/lib/turnlog
  4. the defaults below

Beyond loopback it listens only if the network is protected (--insecure) or with:
  for clients   --users-file, which ` + "`turnlog user add`" + ` makes, --tls-cert and --tls-key
  for nodes     --node-tls-cert, --node-tls-key and --node-tls-ca, on every node
With users, the nodes of a cluster need a credential on loopback, too: these, or
  --cluster-secret-file, made by (umask 077; openssl rand -hex 32 > FILE)
A node's certificate must have the node's id as common name or DNS name, or a name of
--node-tls-names. The cluster secret does not encrypt. To introduce it, restart all
nodes with --cluster-secret-optional, one by one, and then without it.
` + "`turnlog cert`" + ` makes certificates for tests.

Open files: each connection takes one, and so do each 64 MiB of data and of log. The
limit (ulimit -n, LimitNOFILE=) is raised as far as allowed and divided: log, state and
other nodes have a reserve; Redis and HTTP clients have the rest, at most three quarters
of it each; further connections are rejected with an error. With users, an eighth of the
clients' part, 32 at most, is reserved for admins. The node does not start with fewer
than 128; 4,096 and one for each 64 MiB of data are plenty for most. The metrics are
turnlog_descriptors_limit, _reserved and _clients.

SIGHUP makes the node reload the users file and the certificates; it also notices
changed certificates by itself. If one cannot be loaded, the error is logged and the old
one stays in use. A removed user or right is rejected from the next request on.

SIGTERM or SIGINT: the node answers the requests in flight, transfers leadership, writes
its state and exits with 0. A second signal ends it at once, which is as safe as a
power cut: nothing acknowledged is lost.`,
		Example: `  turnlog serve --data-dir /var/lib/turnlog

  turnlog serve --node-id n1 --data-dir /var/lib/turnlog \
    --users-file users.yaml --tls-cert n1.crt --tls-key n1.key \
    --node-tls-cert n1.crt --node-tls-key n1.key --node-tls-ca ca.crt \
    --resp-addr 10.0.0.1:7379 --http-addr 10.0.0.1:7380 --raft-addr 10.0.0.1:7381 \
    --initial-cluster n1=10.0.0.1:7381,n2=10.0.0.2:7381,n3=10.0.0.3:7381`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if file == "" {
				file = a.Getenv(flags.EnvName("config"))
			}
			if err := flags.Load(settings, file, a.Getenv); err != nil {
				return cli.Usage(err)
			}
			if err := cfg.Validate(); err != nil {
				return cli.Usage(err)
			}
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			return serve(a, ctx, &cfg)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML file with settings (TURNLOG_CONFIG)")
	cmd.Flags().AddFlagSet(settings)
	return cmd
}
