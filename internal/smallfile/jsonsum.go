package smallfile

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"regexp"
)

// jsonCheck is the field that holds the checksum of the JSON file that it ends.
var jsonCheck = regexp.MustCompile(`,"crc32c":[0-9]+}$`)

// JSONSum returns the checksum of a JSON file: of its text without spaces, in which
// without is in place of that field. It is taken of the text rather than of what
// this version makes of it, so that it tells damage from a file of a newer version,
// which may hold more. ok is false if there is no checksum in it.
func JSONSum(text []byte, without string) (sum uint32, ok bool) {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return 0, false
	}
	at := jsonCheck.FindIndex(b.Bytes())
	if at == nil {
		return 0, false
	}
	return crc32.Checksum(append(b.Bytes()[:at[0]], without...), crc32.MakeTable(crc32.Castagnoli)), true
}
