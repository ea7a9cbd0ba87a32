package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What had another name in earlier versions. A command whose name was another one has that in SuggestFor.

// formerFlags are names that flags had.
var formerFlags = map[string]string{"secret-file": "password-file"}

// formerFlag adds to the error of a flag that does not exist what its name is now.
func formerFlag(err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		if now := formerFlags[missing.GetSpecifiedName()]; now != "" {
			return fmt.Errorf("%w; it is called --%s now", err, now)
		}
	}
	return err
}

// formerVariables is an error if a password is in a variable that has another name now.
func formerVariables(getenv func(string) string) error {
	for _, name := range []string{"TURNLOG_SECRET", "TURNLOG_SECRET_FILE"} {
		if getenv(name) != "" {
			return Usagef("%s is called %s now: set that", name, strings.Replace(name, "SECRET", "PASSWORD", 1))
		}
	}
	return nil
}

// noArgs is cobra.NoArgs that says which command has a former name.
func noArgs(cmd *cobra.Command, args []string) error {
	err := cobra.NoArgs(cmd, args)
	if err == nil {
		return nil
	}
	for _, sub := range cmd.Commands() {
		if slices.Contains(sub.SuggestFor, args[0]) {
			return fmt.Errorf("%w; it is called %q now", err, sub.CommandPath())
		}
	}
	return err
}
