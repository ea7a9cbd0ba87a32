package target

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/proxy"
)

// openPostgres makes two tables, turnlog_contract_sessions and _messages, unless
// they are there.
func openPostgres(t *Target, u *url.URL) error {
	config, err := pgxpool.ParseConfig(u.String())
	if err != nil {
		return err
	}
	config.MaxConns = 4
	addr := net.JoinHostPort(config.ConnConfig.Host, strconv.Itoa(int(config.ConnConfig.Port)))
	open := func(ctx context.Context, via string) (contract.Store, error) {
		c := config.Copy()
		if via != "" {
			host, port, err := net.SplitHostPort(via)
			if err != nil {
				return nil, err
			}
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return nil, err
			}
			c.ConnConfig.Host, c.ConnConfig.Port = host, uint16(n)
		}
		pool, err := pgxpool.NewWithConfig(ctx, c)
		if err != nil {
			return nil, err
		}
		if _, err := pool.Exec(ctx, postgresSchema); err != nil {
			pool.Close()
			return nil, err
		}
		return &postgresStore{pool}, nil
	}
	t.Open = func(ctx context.Context) (contract.Store, error) { return open(ctx, "") }
	t.Claims = contract.Claims{IDs: true, Linearizable: true, Bytes: true}
	if config.ConnConfig.TLSConfig == nil {
		t.Line = behind(proxy.Postgres{}, open, addr)
	}
	return nil
}

// A session's row is locked by the client that changes the session until its transaction
// ends. It stays when the session is emptied, so that versions never come again.
const postgresSchema = `
	SELECT pg_advisory_lock(7379);
	CREATE TABLE IF NOT EXISTS turnlog_contract_sessions (
		key bytea PRIMARY KEY, version bigint NOT NULL DEFAULT 0, last bigint NOT NULL DEFAULT 0, deadline timestamptz);
	CREATE TABLE IF NOT EXISTS turnlog_contract_messages (
		key bytea NOT NULL, seq bigint NOT NULL, id text, data bytea NOT NULL,
		PRIMARY KEY (key, seq), UNIQUE (key, id));
	SELECT pg_advisory_unlock(7379);`

const postgresLive = `(s.deadline IS NULL OR s.deadline > clock_timestamp())`

// postgresStore keeps messages in a table, with a transaction for each change.
type postgresStore struct{ pool *pgxpool.Pool }

func (s *postgresStore) add(ctx context.Context, session, version string, ttl time.Duration,
	ms []contract.Message) error {
	err := s.change(ctx, session, func(l *lockedSession) error {
		if err := l.lookUp(ctx, ms); err != nil {
			return err
		}
		if version != "" && version != strconv.FormatInt(l.version, 10) {
			return contract.ErrConflict
		}
		return l.insert(ctx, ttl, ms)
	})
	if errors.Is(err, errKnown) {
		return nil
	}
	return err
}

func (s *postgresStore) Add(ctx context.Context, session string, ms ...contract.Message) error {
	return s.add(ctx, session, "", 0, ms)
}

func (s *postgresStore) AddTTL(ctx context.Context, session string, ttl time.Duration, ms ...contract.Message) error {
	return s.add(ctx, session, "", ttl, ms)
}

func (s *postgresStore) AddIf(ctx context.Context, session, version string, ms ...contract.Message) error {
	return s.add(ctx, session, version, 0, ms)
}

func (s *postgresStore) AddAsync(ctx context.Context, session string, ms ...contract.Message) <-chan error {
	return contract.Goroutine(ctx, s, session, ms...)
}

func (s *postgresStore) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	return contract.GoroutineLoad(ctx, s, session)
}

func (s *postgresStore) ClearAsync(ctx context.Context, session string) <-chan error {
	return contract.GoroutineClear(ctx, s, session)
}

// LoadVersion is one statement, and so sees one moment.
func (s *postgresStore) LoadVersion(ctx context.Context, session string) ([]contract.Message, string, error) {
	rows, err := s.pool.Query(ctx, `SELECT s.version, m.id, m.data FROM turnlog_contract_sessions s
		LEFT JOIN turnlog_contract_messages m ON m.key = s.key AND `+postgresLive+`
		WHERE s.key = $1 ORDER BY m.seq`, []byte(session))
	if err != nil {
		return nil, "", err
	}
	defer rows.Close()
	var ms []contract.Message
	version := int64(0)
	for rows.Next() {
		var id *string
		var data []byte
		if err := rows.Scan(&version, &id, &data); err != nil {
			return nil, "", err
		}
		if data == nil {
			continue // a session without messages
		}
		m := contract.Decode(data)
		if id != nil {
			m.ID = *id
		}
		ms = append(ms, m)
	}
	return ms, strconv.FormatInt(version, 10), rows.Err()
}

func (s *postgresStore) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, _, err := s.LoadVersion(ctx, session)
	if err != nil {
		return nil, err
	}
	return ms, nil
}

func (s *postgresStore) LoadLast(ctx context.Context, session string, n int) ([]contract.Message, error) {
	ms, err := s.Load(ctx, session)
	return ms[max(0, len(ms)-n):], err
}

func (s *postgresStore) Trim(ctx context.Context, session string, keep int) error {
	return s.change(ctx, session, func(l *lockedSession) error {
		_, err := l.tx.Exec(ctx, `DELETE FROM turnlog_contract_messages WHERE key = $1 AND seq <= COALESCE((
			SELECT seq FROM turnlog_contract_messages WHERE key = $1 ORDER BY seq DESC OFFSET $2 LIMIT 1), -1)`,
			l.key, keep)
		if err != nil {
			return err
		}
		return l.update(ctx, 0, 0)
	})
}

func (s *postgresStore) Clear(ctx context.Context, session string) error {
	return s.Trim(ctx, session, 0)
}

func (s *postgresStore) Delete(ctx context.Context, session string) error {
	return s.Trim(ctx, session, 0)
}

func (s *postgresStore) Pop(ctx context.Context, session string) (m contract.Message, ok bool, err error) {
	err = s.change(ctx, session, func(l *lockedSession) error {
		var data []byte
		err := l.tx.QueryRow(ctx, `DELETE FROM turnlog_contract_messages WHERE key = $1 AND seq = (
			SELECT max(seq) FROM turnlog_contract_messages WHERE key = $1) RETURNING data`, l.key).Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		m, ok = contract.Decode(data), err == nil
		return err
	})
	return m, ok, err
}

func (s *postgresStore) Sessions(ctx context.Context, prefix string) ([]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT key FROM turnlog_contract_sessions s WHERE `+
		postgresLive+` AND substring(key for $2) = $1
		AND EXISTS (SELECT FROM turnlog_contract_messages m WHERE m.key = s.key)`, []byte(prefix), len(prefix))
	if err != nil {
		return nil, err
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = string(k)
	}
	return out, err
}

// Corrupt leaves bytes that are no message in the second row of a session.
func (s *postgresStore) Corrupt(ctx context.Context, session string) error {
	_, err := s.pool.Exec(ctx, `UPDATE turnlog_contract_messages SET data = $2 WHERE key = $1 AND seq = (
		SELECT seq FROM turnlog_contract_messages WHERE key = $1 ORDER BY seq OFFSET 1 LIMIT 1)`, []byte(session),
		[]byte(pickle))
	return err
}

func (s *postgresStore) Close() error {
	s.pool.Close()
	return nil
}
