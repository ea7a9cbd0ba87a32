package main

import (
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// debian writes turnlog_VERSION_ARCH.deb.
func (r release) debian(binary, arch string) (name string, err error) {
	pages, remove, err := r.compressedPages()
	defer remove()
	if err != nil {
		return "", err
	}
	if binary, err = filepath.EvalSymlinks(binary); err != nil { // a link would be packed as one
		return "", err
	}
	info := r.info(arch)
	if info.Contents, err = r.contents(binary, pages); err != nil {
		return "", err
	}
	info.Scripts = nfpm.Scripts{PostInstall: r.source("debian/postinst"), PreRemove: r.source("debian/prerm"),
		PostRemove: r.source("debian/postrm")}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return "", err
	}
	name = deb.Default.ConventionalFileName(info)
	return name, r.write(name, func(w io.Writer) error { return deb.Default.Package(info, w) })
}

func (r release) info(arch string) *nfpm.Info {
	return &nfpm.Info{
		Name: "turnlog", Arch: arch, Platform: "linux", Version: debianVersion(r.version), VersionSchema: "none",
		Section: "database", Priority: "optional", License: "MIT", MTime: packed(),
		Maintainer: "The turnlog authors <turnlog@users.noreply.github.com>",
		Homepage:   "https://github.com/turnlog/turnlog",
		Description: "replicated memory for AI agents\n" +
			"Keeps conversations: session key to ordered log of messages, committed exactly\n" +
			"once on a majority of nodes. Redis protocol and HTTP; one process a node.",
		DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Depends:  []string{"passwd", "procps"}, // useradd; /bin/kill, by which the unit reloads
			Suggests: []string{"prometheus"},
		},
	}
}

// contents are the package's files. Man pages and completions come from the program itself.
func (r release) contents(binary, pages string) (files.Contents, error) {
	file := func(source, to string, mode os.FileMode) *files.Content {
		return &files.Content{Source: source, Destination: to, FileInfo: &files.ContentFileInfo{
			Owner: "root", Group: "root", Mode: mode, MTime: packed()}}
	}
	settings := file(r.source("debian/turnlog.yaml"), "/etc/turnlog/turnlog.yaml", 0o644)
	settings.Type = files.TypeConfigNoReplace
	list := files.Contents{
		settings,
		file(binary, "/usr/bin/turnlog", 0o755),
		file(r.source("../LICENSE"), "/usr/share/doc/turnlog/copyright", 0o644),
		file(filepath.Join(pages, "changelog.gz"), "/usr/share/doc/turnlog/changelog.gz", 0o644),
		file(r.source("prometheus/turnlog.rules.yml"), "/usr/share/turnlog/prometheus/turnlog.rules.yml", 0o644),
		file(r.source("grafana/turnlog.json"), "/usr/share/turnlog/grafana/turnlog.json", 0o644),
		file(r.source("prometheus/prometheus.yml"), "/usr/share/turnlog/prometheus/prometheus.yml", 0o644),
	}
	for _, unit := range []string{"turnlog.service", "turnlog-backup.service", "turnlog-backup.timer"} {
		list = append(list, file(r.source("systemd/"+unit), "/usr/lib/systemd/system/"+unit, 0o644))
	}
	for from, to := range map[string]string{"turnlog.bash": "bash-completion/completions/turnlog",
		"_turnlog": "zsh/vendor-completions/_turnlog", "turnlog.fish": "fish/vendor_completions.d/turnlog.fish"} {
		list = append(list, file(filepath.Join(r.share, "completions", from), path.Join("/usr/share", to), 0o644))
	}
	found, _ := filepath.Glob(filepath.Join(pages, "*.1.gz"))
	for _, page := range found {
		list = append(list, file(page, "/usr/share/man/man1/"+filepath.Base(page), 0o644))
	}
	docs, err := r.docs()
	for from, to := range docs {
		list = append(list, file(from, path.Join("/usr/share/doc/turnlog", to), 0o644))
	}
	return list, err
}

// docs returns the README and the pages of docs, and where each is below the package's documents, so that links between
// them work.
func (r release) docs() (map[string]string, error) {
	all := map[string]string{r.source("../README.md"): "README.md"}
	root := r.source("../docs")
	return all, filepath.WalkDir(root, func(name string, f os.DirEntry, err error) error {
		if err != nil || f.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		below, err := filepath.Rel(root, name)
		all[name] = path.Join("docs", filepath.ToSlash(below))
		return err
	})
}

func (r release) source(name string) string { return filepath.Join(r.deploy, name) }

// compressedPages returns a directory of the man pages and the changelog as Debian has them.
func (r release) compressedPages() (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", "turnlog-pages-"); err != nil {
		return "", func() {}, err
	}
	remove = func() { os.RemoveAll(dir) }
	found, err := filepath.Glob(filepath.Join(r.share, "man1", "*.1"))
	if err != nil {
		return "", remove, err
	}
	from := map[string]string{"changelog.gz": r.source("../CHANGELOG.md")}
	for _, page := range found {
		from[filepath.Base(page)+".gz"] = page
	}
	for name, source := range from {
		if err := compress(source, filepath.Join(dir, name)); err != nil {
			return "", remove, err
		}
	}
	return dir, remove, nil
}

func compress(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// write writes a file of the release.
func (r release) write(name string, content func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	err = content(f)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

var numbered = regexp.MustCompile(`^v[0-9]`)

// debianVersion returns a version that Debian sorts as it is meant: v0.2.0-rc.1 before v0.2.0, and what is
// not released, as a commit, before all that is.
func debianVersion(version string) string {
	if !numbered.MatchString(version) {
		return "0~" + strings.ReplaceAll(version, "-", "+")
	}
	number, more, found := strings.Cut(version[1:], "-")
	switch {
	case !found:
		return number
	case strings.HasPrefix(more, "alpha.") || strings.HasPrefix(more, "beta.") || strings.HasPrefix(more, "rc.") ||
		strings.HasPrefix(more, "dev."):
		return number + "~" + strings.ReplaceAll(more, "-", "+")
	default: // so many commits later
		return number + "+" + strings.ReplaceAll(more, "-", "+")
	}
}
