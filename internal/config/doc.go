// Package config holds the settings of `turnlog serve` and finds their values.
//
// There is one list of settings: the flags that Config.Flags registers. A
// setting has the same name everywhere — `--data-dir` on the command line,
// TURNLOG_DATA_DIR in the environment, `data-dir:` in the YAML file — and the
// first of these that names it wins, in that order, before its default.
//
// The package opens nothing and listens nowhere; Validate says whether the
// settings make sense together, before anything is started.
package config
