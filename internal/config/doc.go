// Package config holds the settings of a node. Package flags finds their values for `turnlog serve`.
//
// The package opens nothing and listens nowhere; Validate says whether the
// settings make sense together, before anything is started.
package config
