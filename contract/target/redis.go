package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/proxy"
)

// openRedis reads, beyond what Redis URLs have: layout=list (default) or rmw,
// prefix= of the keys (default message_store:, as LangChain's), and retries=, how
// often the client library sends again by itself (default 0: a push that is sent
// again is there twice).
func openRedis(t *Target, u *url.URL) error {
	params, err := take(u, "layout", "prefix", "retries")
	if err != nil {
		return err
	}
	retries := 0
	if r := params["retries"]; r != "" {
		if retries, err = strconv.Atoi(r); err != nil {
			return fmt.Errorf("retries: %w", err)
		}
	}
	prefix := params["prefix"]
	if prefix == "" {
		prefix = "message_store:"
	}
	if l := params["layout"]; l != "" && l != "list" && l != "rmw" {
		return fmt.Errorf("layout %q: must be list or rmw", l)
	}
	options, err := redis.ParseURL(u.String())
	if err != nil {
		return err
	}
	if options.MaxRetries = retries; retries == 0 {
		options.MaxRetries = -1
	}
	options.ContextTimeoutEnabled = true
	open := func(_ context.Context, addr string) (contract.Store, error) {
		o := *options
		o.Addr = addr
		s := redisStore{c: redis.NewClient(&o), prefix: prefix}
		if params["layout"] == "rmw" {
			return &rmwStore{s}, nil
		}
		return &redisList{s}, nil
	}
	t.Open = func(ctx context.Context) (contract.Store, error) { return open(ctx, options.Addr) }
	if options.TLSConfig == nil { // what is encrypted cannot be cut between two requests
		t.Line = behind(proxy.RESP{}, open, options.Addr)
	}
	t.Claims = contract.Claims{Bytes: true, Linearizable: params["layout"] != "rmw"}
	return nil
}

// pickle is what a program in Python may have left of a class that is gone.
const pickle = "\x80\x04\x95\x1c\x00\x00\x00\x00\x00\x00\x00\x8c\x08chat.v1\x94\x8c\x07Message\x94\x93\x94)\x81\x94."

// redisStore is what both layouts have in common: a key for each session.
type redisStore struct {
	c      *redis.Client
	prefix string
}

func (s *redisStore) key(session string) string { return s.prefix + session }

// redisError says of an error reply that nothing was changed, unless the server
// says that it does not know.
func redisError(err error) error {
	if e := redis.Error(nil); errors.As(err, &e) && !strings.HasPrefix(e.Error(), "UNKNOWN") {
		return fmt.Errorf("%w: %w", contract.ErrNotApplied, err)
	}
	return err
}

func encoded(ms []contract.Message) []any {
	out := make([]any, len(ms))
	for i, m := range ms {
		out[i] = m.Encode()
	}
	return out
}

func decoded(texts []string) []contract.Message {
	out := make([]contract.Message, len(texts))
	for i, text := range texts {
		out[i] = contract.Decode([]byte(text))
	}
	return out
}

func (s *redisStore) Clear(ctx context.Context, session string) error {
	return redisError(s.c.Del(ctx, s.key(session)).Err())
}

func (s *redisStore) Close() error { return s.c.Close() }

// redisList keeps a session as a list, newest at the tail.
type redisList struct{ redisStore }

func (s *redisList) Add(ctx context.Context, session string, ms ...contract.Message) error {
	return redisError(s.c.RPush(ctx, s.key(session), encoded(ms)...).Err())
}

func (s *redisList) AddTTL(ctx context.Context, session string, ttl time.Duration, ms ...contract.Message) error {
	_, err := s.c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.RPush(ctx, s.key(session), encoded(ms)...)
		p.PExpire(ctx, s.key(session), ttl)
		return nil
	})
	return redisError(err)
}

func (s *redisList) AddAsync(ctx context.Context, session string, ms ...contract.Message) <-chan error {
	return contract.Goroutine(ctx, s, session, ms...)
}

func (s *redisList) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	return contract.GoroutineLoad(ctx, s, session)
}

func (s *redisList) ClearAsync(ctx context.Context, session string) <-chan error {
	return contract.GoroutineClear(ctx, s, session)
}

func (s *redisList) Corrupt(ctx context.Context, session string) error {
	return s.c.LSet(ctx, s.key(session), 1, pickle).Err()
}

func (s *redisList) Load(ctx context.Context, session string) ([]contract.Message, error) {
	return s.slice(ctx, session, 0)
}

func (s *redisList) LoadLast(ctx context.Context, session string, n int) ([]contract.Message, error) {
	return s.slice(ctx, session, -int64(n))
}

func (s *redisList) slice(ctx context.Context, session string, start int64) ([]contract.Message, error) {
	texts, err := s.c.LRange(ctx, s.key(session), start, -1).Result()
	if err != nil {
		return nil, redisError(err)
	}
	return decoded(texts), nil
}

func (s *redisList) Trim(ctx context.Context, session string, keep int) error {
	if keep == 0 {
		return s.Clear(ctx, session)
	}
	return redisError(s.c.LTrim(ctx, s.key(session), -int64(keep), -1).Err())
}

func (s *redisList) Pop(ctx context.Context, session string) (contract.Message, bool, error) {
	text, err := s.c.RPop(ctx, s.key(session)).Result()
	if errors.Is(err, redis.Nil) {
		return contract.Message{}, false, nil
	}
	if err != nil {
		return contract.Message{}, false, redisError(err)
	}
	return contract.Decode([]byte(text)), true, nil
}

func (s *redisList) Delete(ctx context.Context, session string) error { return s.Clear(ctx, session) }

func (s *redisList) Sessions(ctx context.Context, prefix string) ([]string, error) {
	escape := strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, `\`, `\\`)
	seen := map[string]bool{} // SCAN may return a key twice
	var keys []string
	scan := s.c.Scan(ctx, 0, escape.Replace(s.key(prefix))+"*", 1000).Iterator()
	for scan.Next(ctx) {
		if k := strings.TrimPrefix(scan.Val(), s.prefix); !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	return keys, redisError(scan.Err())
}

// Namespace is the next database, whatever the name.
func (s *redisList) Namespace(context.Context, string) (contract.Store, error) {
	o := *s.c.Options()
	o.DB = (o.DB + 1) % 16
	return &redisList{redisStore{c: redis.NewClient(&o), prefix: s.prefix}}, nil
}

// rmwStore keeps a session as one string, which it reads, extends and writes back:
// incident I1, kept to be caught.
type rmwStore struct{ redisStore }

func (s *rmwStore) read(ctx context.Context, session string) ([]string, error) {
	text, err := s.c.Get(ctx, s.key(session)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, redisError(err)
	}
	var raw [][]byte
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	out := make([]string, len(raw))
	for i := range raw {
		out[i] = string(raw[i])
	}
	return out, nil
}

func (s *rmwStore) Corrupt(ctx context.Context, session string) error {
	return s.c.Set(ctx, s.key(session), pickle, redis.KeepTTL).Err()
}

func (s *rmwStore) Load(ctx context.Context, session string) ([]contract.Message, error) {
	texts, err := s.read(ctx, session)
	return decoded(texts), err
}

func (s *rmwStore) Add(ctx context.Context, session string, ms ...contract.Message) error {
	texts, err := s.read(ctx, session)
	if err != nil {
		return err
	}
	raw := make([][]byte, 0, len(texts)+len(ms))
	for _, text := range texts {
		raw = append(raw, []byte(text))
	}
	for _, m := range ms {
		raw = append(raw, m.Encode())
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	return redisError(s.c.Set(ctx, s.key(session), text, redis.KeepTTL).Err())
}
