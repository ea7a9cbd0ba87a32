package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Kind is what a certificate is for.
type Kind uint8

const (
	Authority Kind = iota
	Node           // to accept connections, and to be shown to other nodes
	Client         // to be shown to nodes; not enough to be taken for one
)

// Request asks for a certificate, which is written with its key to Dir/Name.crt and
// Dir/Name.key.
type Request struct {
	Dir   string
	Name  string
	Kind  Kind
	Hosts []string // names and addresses that it is good for; of a Node
	CA    string   // name of the authority in Dir that signs it; an Authority signs itself
	From  time.Time
	For   time.Duration
	Force bool // overwrite files
}

// Issue makes a certificate with an ECDSA key (P-256). Unless forced, it overwrites
// nothing.
func Issue(r Request) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	cert, err := r.template()
	if err != nil {
		return err
	}
	parent, signer := cert, key
	if r.Kind != Authority {
		if parent, signer, err = authority(r.Dir, r.CA); err != nil {
			return err
		}
		if cert.NotAfter.After(parent.NotAfter) {
			cert.NotAfter = parent.NotAfter
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, signer)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return err
	}
	base := filepath.Join(r.Dir, r.Name)
	if !r.Force { // before either is written
		for _, name := range []string{base + ".key", base + ".crt"} {
			if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s exists already; use --force to overwrite it", name)
			}
		}
	}
	if err := writePEM(base+".key", "PRIVATE KEY", keyDER, 0o600, r.Force); err != nil {
		return err
	}
	return writePEM(base+".crt", "CERTIFICATE", der, 0o644, r.Force)
}

func (r *Request) template() (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: r.Name, Organization: []string{"turnlog"}},
		NotBefore: r.From.Add(-5 * time.Minute), NotAfter: r.From.Add(r.For), // clocks differ
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	switch r.Kind {
	case Authority:
		c.IsCA, c.KeyUsage, c.MaxPathLenZero = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign, true
	case Node:
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		if len(r.Hosts) == 0 {
			return nil, errors.New("a node's certificate needs the names and addresses by which it is reached")
		}
	case Client:
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	for _, h := range r.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	return c, nil
}

// authority reads the certificate and key of an authority.
func authority(dir, name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	base := filepath.Join(dir, name)
	certDER, err := readPEM(base + ".crt")
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := readPEM(base + ".key")
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(certDER)
	if err != nil {
		return nil, nil, fmt.Errorf("%s.crt: %w", base, err)
	}
	any, err := x509.ParsePKCS8PrivateKey(keyDER)
	if err != nil {
		return nil, nil, fmt.Errorf("%s.key: %w", base, err)
	}
	key, ok := any.(*ecdsa.PrivateKey)
	if !ok || !cert.IsCA || !key.PublicKey.Equal(cert.PublicKey) {
		return nil, nil, fmt.Errorf("%s.crt and .key are not those of an authority with an ECDSA key", base)
	}
	return cert, key, nil
}

func readPEM(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the authority, which `turnlog cert ca` makes: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not in PEM form", name)
	}
	return block.Bytes, nil
}

// writePEM puts a file in place as a whole: a node may be reading it.
func writePEM(name, kind string, der []byte, mode os.FileMode, force bool) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = pem.Encode(f, &pem.Block{Type: kind, Bytes: der})
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(f.Name(), name)
	}
	return os.Link(f.Name(), name) // fails if it exists
}
