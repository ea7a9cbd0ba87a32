package command

import (
	"math"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// expire makes the handler of EXPIRE and its kin: unit is the number of
// milliseconds that the argument counts in, at says that it is a point in time.
func expire(unit int64, at bool) Handler {
	return func(req *Request, args [][]byte) Action {
		cond, err := parseExpireIf(args[3:])
		if err != "" {
			return err
		}
		n, ok := ParseInt(args[2])
		if !ok {
			return ErrNotInteger
		}
		k := req.key(args[1])
		op := &turn.Expire{Key: k, If: cond, List: true}
		highest := int64(math.MaxInt64)
		if at {
			op.HasAt = true
		} else {
			op.HasTTL = true
			highest = turn.MaxTTL
		}
		if n > highest/unit || n < math.MinInt64/unit {
			return errExpireTime(string(lower(nil, args[0])))
		}
		op.TTL, op.At = n*unit, n*unit
		if at {
			op.TTL = 0
		} else {
			op.At = 0
		}
		return write(k, op, func(w *resp.Writer, r turn.Result) { counted(w, r.Removed) })
	}
}

// parseExpireIf reads the options NX, XX, GT, LT.
func parseExpireIf(args [][]byte) (turn.ExpireIf, Error) {
	var nx, xx, gt, lt bool
	for _, a := range args {
		switch strings.ToUpper(string(a)) {
		case "NX":
			nx = true
		case "XX":
			xx = true
		case "GT":
			gt = true
		case "LT":
			lt = true
		default:
			return 0, Error("ERR Unsupported option " + Clip(string(a), 128))
		}
	}
	switch {
	case nx && (xx || gt || lt):
		return 0, errExpireNX
	case gt && lt:
		return 0, errExpireGTLT
	case nx:
		return turn.IfNone, ""
	case gt: // implies XX, since no deadline counts as the latest
		return turn.IfLater, ""
	case lt && xx:
		return turn.IfSomeSooner, ""
	case lt:
		return turn.IfSooner, ""
	case xx:
		return turn.IfSome, ""
	}
	return turn.Always, ""
}

func persist(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	return write(k, &turn.Expire{Key: k, List: true}, func(w *resp.Writer, r turn.Result) { counted(w, r.Removed) })
}

// ttl makes the handler of TTL, PTTL, EXPIRETIME, PEXPIRETIME: the deadline or
// what is left to it, in units of that many milliseconds.
func ttl(unit int64, absolute bool) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
		return req.read(k, &turn.Info{Key: k}, func(r turn.Result) (Reply, error) {
			n := int64(-2)
			switch {
			case !exists(r):
			case r.Session.ExpiresAt == 0:
				n = -1
			case absolute:
				n = rounded(r.Session.ExpiresAt, unit)
			default:
				n = rounded(max(0, r.Session.ExpiresAt-req.Backend.clusterTime(r)), unit)
			}
			return func(w *resp.Writer) { w.Int(n) }, nil
		})
	}
}

// rounded is ms in units, rounded to the nearest, without overflow.
func rounded(ms, unit int64) int64 { return ms/unit + (ms%unit+unit/2)/unit }
