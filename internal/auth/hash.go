package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"
)

// MaxPassword is the length in bytes of the longest password.
const MaxPassword = 1024

// hashed is a password as the users file has it: how to compute its key, and the key.
type hashed struct {
	cost
	salt []byte
	key  []byte
}

// cost is what it takes to compute a key.
type cost struct {
	memory uint32 // KiB
	passes uint32
	lanes  uint8
}

// ours is how new passwords are hashed: some 30 ms of one core and 19 MiB.
func ours() cost { return cost{memory: 19 << 10, passes: 2, lanes: 1} }

// HashPassword returns what the users file keeps of a password, with a salt from
// random (crypto/rand.Reader): Argon2id in the form $argon2id$v=…$m=…,t=…,p=…$salt$key.
func HashPassword(password string, random io.Reader) (string, error) {
	if password == "" || len(password) > MaxPassword {
		return "", fmt.Errorf("a password must have 1 to %d bytes, this one has %d", MaxPassword, len(password))
	}
	h := hashed{cost: ours(), salt: make([]byte, 16)}
	if _, err := io.ReadFull(random, h.salt); err != nil {
		return "", err
	}
	h.key = make([]byte, 32)
	h.key = h.compute(password)
	return h.String(), nil
}

// NewPassword returns a password of 256 random bits.
func NewPassword() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func (h *hashed) compute(password string) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.lanes, uint32(len(h.key)))
}

// proves reports, in a time that does not depend on the answer, whether password is
// what was hashed.
func (h *hashed) proves(password string) bool {
	return subtle.ConstantTimeCompare(h.compute(password), h.key) == 1
}

func (h *hashed) String() string {
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, h.lanes, text(h.salt),
		text(h.key))
}

// parseHash reads what HashPassword or another Argon2id implementation made. It
// refuses what would cost more than 128 MiB or 16 passes to check.
func parseHash(s string) (h hashed, err error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return h, fmt.Errorf("%.20q… is not a hash of the form $argon2id$v=…$m=…,t=…,p=…$salt$key; `turnlog user` "+
			"makes them", s)
	}
	version := 0
	if _, err := fmt.Sscanf(parts[2]+"$"+parts[3], "v=%d$m=%d,t=%d,p=%d", &version, &h.memory, &h.passes,
		&h.lanes); err != nil {
		return h, fmt.Errorf("the parameters of the hash, %.60q, cannot be read: %w", parts[2]+"$"+parts[3], err)
	}
	if h.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return h, fmt.Errorf("the salt of the hash: %w", err)
	}
	if h.key, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil {
		return h, fmt.Errorf("the key of the hash: %w", err)
	}
	switch {
	case version != argon2.Version:
		return h, fmt.Errorf("the hash has version %d of Argon2id, this turnlog knows %d", version, argon2.Version)
	case h.passes < 1 || h.passes > 16 || h.lanes < 1 || h.lanes > 16 || h.memory < 8 || h.memory > 128<<10:
		return h, fmt.Errorf("the hash has m=%d,t=%d,p=%d; m must be 8 to 131072, t and p 1 to 16", h.memory,
			h.passes, h.lanes)
	case len(h.salt) < 8 || len(h.key) < 16 || len(h.key) > 64:
		return h, fmt.Errorf("the hash has a salt of %d bytes and a key of %d; at least 8, and 16 to 64, are needed",
			len(h.salt), len(h.key))
	}
	return h, nil
}
