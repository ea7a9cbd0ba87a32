package command

import (
	"math"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// ParseInt reads an integer as Redis does: no plus sign, no spaces, no leading zeros.
func ParseInt(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == string(b)
}

// parseCount reads an integer from 0 on.
func parseCount(b []byte) (uint64, bool) {
	n, ok := ParseInt(b)
	return uint64(n), ok && n >= 0
}

// Is reports whether an argument is a word, in any case.
func Is(arg []byte, word string) bool { return strings.EqualFold(string(arg), word) }

// options walks through the options of a TURN.* request. After the first mistake
// everything it returns is zero and more is false.
type options struct {
	args [][]byte
	err  Error
}

func (o *options) more() bool { return o.err == "" && len(o.args) > 0 }

// word returns the next argument in capitals.
func (o *options) word() string { return strings.ToUpper(string(o.take("an option"))) }

// take returns the next argument; what says what is expected there.
func (o *options) take(what string) []byte {
	if o.err != "" {
		return nil
	}
	if len(o.args) == 0 {
		o.err = Invalid("%s is missing at the end", what)
		return nil
	}
	a := o.args[0]
	o.args = o.args[1:]
	return a
}

// uint returns the next argument as a number from 0 on.
func (o *options) uint(what string) uint64 {
	a := o.take(what)
	n, err := strconv.ParseUint(string(a), 10, 64)
	if err != nil && o.err == "" {
		o.err = Invalid("%s must be a number from 0 on, is %q", what, Clip(string(a), 40))
	}
	return n
}

// int returns the next argument as a number from min on.
func (o *options) int(what string, min int64) int64 {
	a := o.take(what)
	n, err := strconv.ParseInt(string(a), 10, 64)
	if o.err == "" && (err != nil || n < min) {
		o.err = Invalid("%s must be a number from %d on, is %q", what, min, Clip(string(a), 40))
		return 0
	}
	return n
}

// count is int for what fits an int.
func (o *options) count(what string, min int64) int {
	n := o.int(what, min)
	if n > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(n)
}

func (o *options) expect() *uint64 {
	n := o.uint("the revision after EXPECT")
	return &n
}

// unknown reports a word that is no option here.
func (o *options) unknown(word string) {
	if o.err == "" {
		o.err = Invalid("unknown option %q", Clip(word, 40))
	}
}

// message reads "id payload" after MSG. The payload is not copied yet.
func (o *options) message(ids *[]string, payloads *[][]byte) {
	id := o.take("the id after MSG")
	data := o.take("the payload after MSG id")
	if o.err == "" {
		*ids, *payloads = append(*ids, string(id)), append(*payloads, data)
	}
}

// messages joins ids and payloads, which are copied.
func (req *Request) messages(ids []string, payloads [][]byte) []turn.NewMessage {
	ms := req.payloads(payloads)
	for i := range ms {
		ms[i].ID = ids[i]
	}
	return ms
}

// payloads returns args as messages whose data stays unchanged, although the
// reader will use the memory of args again.
func (req *Request) payloads(args [][]byte) []turn.NewMessage {
	total := 0
	for _, a := range args {
		total += len(a)
	}
	ms := make([]turn.NewMessage, len(args))
	if total >= 16<<10 {
		req.Client.Detach() // instead of copying
		for i, a := range args {
			ms[i].Data = a
		}
		return ms
	}
	block := make([]byte, 0, total)
	for i, a := range args {
		start := len(block)
		block = append(block, a...)
		ms[i].Data = block[start:len(block):len(block)]
	}
	return ms
}

// payload returns one argument, which stays unchanged.
func (req *Request) payload(arg []byte) []byte {
	if len(arg) >= 16<<10 {
		req.Client.Detach()
		return arg
	}
	return append([]byte{}, arg...)
}

// Names returns args as strings.
func Names(args [][]byte) []string {
	ss := make([]string, len(args))
	for i, a := range args {
		ss[i] = string(a)
	}
	return ss
}
