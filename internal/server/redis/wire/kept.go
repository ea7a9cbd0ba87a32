package wire

import "github.com/turnlog/turnlog/internal/resp"

// keptChunk is how much room kept takes at first.
const keptChunk = 16 << 10

// kept is input that was received while a request blocked the connection, beyond what
// the RequestReader holds. It belongs to the goroutine that reads requests.
type kept struct {
	buf    []byte // empty: there is none
	begin  int    // what is before it has been read
	max    int    // bytes
	budget resp.Memory
}

// room returns where more input can be put, nil if there may be no more.
func (k *kept) room() []byte {
	if k.begin > 0 {
		k.buf, k.begin = k.buf[:copy(k.buf, k.buf[k.begin:])], 0
	}
	if n := cap(k.buf); len(k.buf) == n {
		want := min(max(2*n, keptChunk), k.max)
		if want <= n || !k.budget.Take(want-n) {
			return nil
		}
		grown := make([]byte, len(k.buf), want)
		copy(grown, k.buf)
		k.buf = grown
	}
	return k.buf[len(k.buf):cap(k.buf)]
}

// grew says that n bytes were put into the room.
func (k *kept) grew(n int) { k.buf = k.buf[:len(k.buf)+n] }

// read takes what was kept first.
func (k *kept) read(p []byte) int {
	n := copy(p, k.buf[k.begin:])
	if k.begin += n; k.begin == len(k.buf) {
		k.drop()
	}
	return n
}

// drop forgets everything, and gives its memory back.
func (k *kept) drop() {
	k.budget.Give(cap(k.buf))
	k.buf, k.begin = nil, 0
}
