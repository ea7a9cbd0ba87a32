package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/turnlog/turnlog/contract"
)

// lockedSession is a session's row within a transaction that changes it.
type lockedSession struct {
	tx      pgx.Tx
	key     []byte
	version int64
	last    int64
}

// change runs f in a transaction on the locked row of a session. What fails before
// the commit surely did not happen; what fails during it may have.
func (s *postgresStore) change(ctx context.Context, session string, f func(*lockedSession) error) error {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return notApplied(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // of no effect after the commit
	l := &lockedSession{tx: tx, key: []byte(session)}
	if err := l.lock(ctx); err != nil {
		return notApplied(err)
	}
	if err := f(l); err != nil {
		return notApplied(err)
	}
	err = tx.Commit(ctx)
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Severity == "ERROR" {
		return notApplied(err)
	}
	return err
}

func notApplied(err error) error {
	if errors.Is(err, contract.ErrConflict) {
		return err
	}
	return fmt.Errorf("%w: %w", contract.ErrNotApplied, err)
}

// lock takes the session's row, making it if needed, and empties a session that
// has ended.
func (l *lockedSession) lock(ctx context.Context) error {
	var ended bool
	err := l.tx.QueryRow(ctx, `INSERT INTO turnlog_contract_sessions AS s (key) VALUES ($1)
		ON CONFLICT (key) DO UPDATE SET key = excluded.key
		RETURNING version, last, NOT `+postgresLive, l.key).Scan(&l.version, &l.last, &ended)
	if err != nil || !ended {
		return err
	}
	_, err = l.tx.Exec(ctx, `DELETE FROM turnlog_contract_messages WHERE key = $1`, l.key)
	if err != nil {
		return err
	}
	l.version++
	_, err = l.tx.Exec(ctx, `UPDATE turnlog_contract_sessions SET version = $2, deadline = NULL WHERE key = $1`,
		l.key, l.version)
	return err
}

// errKnown ends a transaction in which there is nothing to do.
var errKnown = errors.New("saved before")

// lookUp compares with the messages that have one of these ids.
func (l *lockedSession) lookUp(ctx context.Context, ms []contract.Message) error {
	want := map[string]contract.Message{}
	var ids []string
	for _, m := range ms {
		if m.ID != "" {
			want[m.ID] = m
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := l.tx.Query(ctx, `SELECT id, data FROM turnlog_contract_messages WHERE key = $1 AND id = ANY($2)`,
		l.key, ids)
	if err != nil {
		return err
	}
	defer rows.Close()
	known := 0
	for rows.Next() {
		var id string
		var data []byte
		if err := rows.Scan(&id, &data); err != nil {
			return err
		}
		if !contract.Decode(data).Equal(want[id]) {
			return contract.ErrConflict
		}
		known++
	}
	switch {
	case rows.Err() != nil:
		return rows.Err()
	case known == 0:
		return nil
	case known < len(ms):
		return contract.ErrConflict
	}
	return errKnown
}

func (l *lockedSession) insert(ctx context.Context, ttl time.Duration, ms []contract.Message) error {
	seqs, ids, data := make([]int64, len(ms)), make([]*string, len(ms)), make([][]byte, len(ms))
	for i, m := range ms {
		seqs[i], data[i] = l.last+int64(i)+1, m.Encode()
		if m.ID != "" {
			ids[i] = &ms[i].ID
		}
	}
	_, err := l.tx.Exec(ctx, `INSERT INTO turnlog_contract_messages (key, seq, id, data)
		SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::bytea[])`, l.key, seqs, ids, data)
	if err != nil {
		return err
	}
	return l.update(ctx, len(ms), ttl)
}

// update closes a change of the session.
func (l *lockedSession) update(ctx context.Context, added int, ttl time.Duration) error {
	_, err := l.tx.Exec(ctx, `UPDATE turnlog_contract_sessions SET version = version + 1, last = last + $2,
		deadline = CASE WHEN $3 > 0 THEN clock_timestamp() + $3 * interval '1 millisecond' ELSE deadline END
		WHERE key = $1`,
		l.key, added, float64(ttl.Milliseconds()))
	return err
}
