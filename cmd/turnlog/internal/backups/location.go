package backups

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/backup/s3"
)

// aboutS3 is what the help of commands says of object stores.
const aboutS3 = `s3://BUCKET/PREFIX is an object store that speaks the S3 protocol: that of Amazon, or the one
that --s3-endpoint or AWS_ENDPOINT_URL_S3 names. Credentials come from AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else from the profile AWS_PROFILE of
~/.aws/credentials (AWS_SHARED_CREDENTIALS_FILE), else from the machine's, container's or
pod's role. AWS_CA_BUNDLE names the authorities of the store's certificate.`

// location is where a command has its backups, and how it gets there.
type location struct {
	*cli.App
	s3 s3.Config
}

func (l *location) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.s3.Endpoint, "s3-endpoint", "", "URL of the object store (default: AWS_ENDPOINT_URL_S3, "+
		"AWS_ENDPOINT_URL, or that of Amazon)")
	f.StringVar(&l.s3.Region, "s3-region", "", "region of the bucket (default: AWS_REGION, AWS_DEFAULT_REGION, "+
		"or what the store says)")
}

func isURL(target string) bool { return strings.HasPrefix(target, s3.Scheme) }

// isMany reports whether a target keeps many backups: a folder, or a bucket, and not an object in one.
func isMany(target string) bool {
	if isURL(target) {
		return !backup.IsBackup(path.Base(target))
	}
	return isFolder(target)
}

// isFolder reports whether a target is a folder of backups.
func isFolder(target string) bool {
	info, err := os.Stat(target)
	return strings.HasSuffix(target, string(filepath.Separator)) || err == nil && info.IsDir()
}

// storage returns the storage that a target is.
func (l *location) storage(target string) (backup.Storage, error) {
	if !isURL(target) {
		return backup.NewFolder(target), nil
	}
	l.s3.Getenv = l.Getenv
	b, err := s3.Open(target, l.s3)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return b, nil
}

// one is a backup that a command reads.
type one struct {
	storage backup.Storage // nil: it is what stdin has
	name    string         // in the storage
	path    string         // what people call it
}

// one returns the backup that a target is.
func (l *location) one(target string) (one, error) {
	if target == "-" {
		return one{path: target}, nil
	}
	dir, name := filepath.Split(target)
	if isURL(target) {
		dir, name = path.Split(target)
	} else if dir == "" {
		dir = "."
	}
	s, err := l.storage(dir)
	return one{s, name, target}, err
}

// open opens a backup.
func (l *location) open(ctx context.Context, o one) (*backup.Reader, error) {
	if o.storage == nil {
		return backup.NewReader(l.Stdin)
	}
	r, err := backup.Open(ctx, o.storage, o.name)
	if errors.Is(err, os.ErrNotExist) {
		err = cli.Usage(err)
	}
	return r, err
}

// progress shows how far a backup was read.
func (l *location) progress(what string, r *backup.Reader) *cli.Progress {
	return cli.StartProgress(l.Stderr, what, cli.ProgressOf{Total: r.Description.Bytes, At: r.Brought, Unit: "MiB",
		Items: func() int64 { return r.Brought() >> 20 }})
}
