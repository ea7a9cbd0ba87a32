package cli

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"
)

// NoContext is the value of --context that selects no context.
const NoContext = "none"

// RegisterContext registers --context among the flags that all commands share.
func (a *App) RegisterContext(root *cobra.Command) {
	root.PersistentFlags().StringVar(&a.context, "context", a.Getenv("TURNLOG_CONTEXT"),
		"context to connect with, see turnlog context; other flags override it, and it overrides the\nenvironment; "+
			"none: no context. Default: that in TURNLOG_CONTEXT, or the selected one, which the\nenvironment overrides")
	_ = root.RegisterFlagCompletionFunc("context",
		func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return a.CompleteContext(cmd, nil, typed)
		}) // fails only if there is no such flag
}

// CompleteContext completes the name of a context as a command's one argument.
func (a *App) CompleteContext(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := a.Contexts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := c.Names() // without them there is nothing to complete
	return names, cobra.ShellCompDirectiveNoFileComp
}

// contextless is the annotation of commands that take what they connect with from flags and environment alone.
const contextless = "turnlog-contextless"

// WithoutContext has a command take what it connects with from flags and environment alone.
func WithoutContext(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{contextless: ""}
	return cmd
}

// useContext takes from the context what neither the flags of cmd nor the environment say. If that fails, the
// command fails when it connects, so that those that do not connect work.
func (a *App) useContext(cmd *cobra.Command) {
	if _, without := cmd.Annotations[contextless]; without || a.context == NoContext {
		return
	}
	x, err := a.loadContext()
	if err != nil {
		a.Login.contextErr = err
		return
	}
	a.apply(cmd, x)
}

// apply takes from x what goes before it neither on the command line nor in the environment.
func (a *App) apply(cmd *cobra.Command, x Context) {
	unsaid := func(flag, variable string) bool { return a.overrides(cmd, flag, variable) == "" }
	set := func(to *string, value, flag, variable string) {
		if value != "" && unsaid(flag, variable) {
			*to = value
		}
	}
	l := &a.Login
	set(&a.Addr, x.Addr, "addr", "TURNLOG_ADDR")
	set(&a.Namespace, x.Namespace, "namespace", "TURNLOG_NAMESPACE")
	if x.trusts(a.Addr) {
		set(&l.User, x.User, "user", "TURNLOG_USER")
		a.applyPassword(cmd, x)
	}
	if x.TLS && unsaid("tls", "TURNLOG_TLS") {
		l.useTLS = true
	}
	set(&l.ca, x.TLSCA, "tls-ca", "TURNLOG_TLS_CA")
	if unsaid("tls-cert", "") && unsaid("tls-key", "") { // a certificate goes with its own key
		l.cert, l.key = cmp.Or(x.TLSCert, l.cert), cmp.Or(x.TLSKey, l.key)
	}
}

// applyPassword takes the password from x, for its user only.
func (a *App) applyPassword(cmd *cobra.Command, x Context) {
	l := &a.Login
	if l.User != x.User || x.Password == "" && x.PasswordFile == "" {
		return
	}
	if a.overrides(cmd, "password-file", "TURNLOG_PASSWORD_FILE") == "" &&
		a.overrides(cmd, "", "TURNLOG_PASSWORD") == "" {
		l.passwordFile, l.contextPassword = x.PasswordFile, x.Password
	}
}

// overrides returns what goes before the context of a setting: its flag, or its variable of the environment, unless
// --context names the context. It is empty if nothing does.
func (a *App) overrides(cmd *cobra.Command, flag, variable string) string {
	switch {
	case flag != "" && cmd.Flags().Changed(flag):
		return "--" + flag
	case variable != "" && a.Getenv(variable) != "" && !cmd.Flags().Changed("context"):
		return variable
	}
	return ""
}

// trusts reports whether the context's user and password may be sent to these addresses: they are all among its own.
func (x Context) trusts(addrs string) bool {
	if x.Addr == "" {
		return true
	}
	own := SplitAddrs(x.Addr)
	return !slices.ContainsFunc(SplitAddrs(addrs), func(addr string) bool { return !slices.Contains(own, addr) })
}

// InEffect returns what cmd connects with if it uses x, and what goes before x there. It is for commands that
// WithoutContext made.
func (a *App) InEffect(cmd *cobra.Command, x Context) (y Context, overriddenBy []string) {
	a.apply(cmd, x)
	settings := [][2]string{{"addr", "TURNLOG_ADDR"}, {"namespace", "TURNLOG_NAMESPACE"}, {"user", "TURNLOG_USER"},
		{"password-file", "TURNLOG_PASSWORD_FILE"}, {"", "TURNLOG_PASSWORD"}, {"tls", "TURNLOG_TLS"},
		{"tls-ca", "TURNLOG_TLS_CA"}, {"tls-cert", ""}, {"tls-key", ""}}
	for _, s := range settings {
		if o := a.overrides(cmd, s[0], s[1]); o != "" {
			overriddenBy = append(overriddenBy, o)
		}
	}
	return a.Settings(), overriddenBy
}

// loadContext returns the context that is named, or else the selected one; an empty one if there is neither.
func (a *App) loadContext() (Context, error) {
	c, err := a.Contexts()
	if err != nil && a.context == "" { // as in a service without a home
		return Context{}, nil
	} else if err != nil {
		return Context{}, err
	}
	name, err := a.ContextName(c)
	if err != nil || name == "" {
		return Context{}, err
	}
	if a.context == "" {
		return c.LoadSelected(name)
	}
	return c.Load(name)
}

// ContextName returns the name of the context that commands use: the one in --context, or else the selected one;
// empty if there is none.
func (a *App) ContextName(c Contexts) (string, error) {
	switch a.context {
	case NoContext:
		return "", nil
	case "":
		return c.Selected()
	}
	return a.context, nil
}

// PasswordFrom says where the password comes from; empty if there is none.
func (a *App) PasswordFrom() string {
	switch l := &a.Login; {
	case l.passwordFile != "":
		return l.passwordFile
	case l.contextPassword != "":
		return "(kept here)"
	case a.Getenv("TURNLOG_PASSWORD") != "":
		return "(TURNLOG_PASSWORD)"
	}
	return ""
}

// ContextErr returns why the context could not be used, nil if it was, or there is none. WithClient and Send return
// it, too.
func (a *App) ContextErr() error { return a.Login.contextErr }

// Settings returns as a context what flags and environment say, except a password itself.
func (a *App) Settings() Context {
	l := &a.Login
	return Context{Addr: a.Addr, Namespace: a.Namespace, User: l.User, PasswordFile: l.passwordFile, TLS: l.useTLS,
		TLSCA: l.ca, TLSCert: l.cert, TLSKey: l.key}
}
