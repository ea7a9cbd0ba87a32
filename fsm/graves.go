package fsm

import (
	"maps"
	"slices"
	"strings"
)

// graves returns what is remembered of sessions deleted under key, the one
// deleted last first.
func (m *Machine) graves(key string) ([]grave, error) {
	if m.meta.graveMax <= m.meta.clock {
		return nil, nil
	}
	found := make(map[uint64]grave)
	tx, err := m.storeTx()
	if err != nil {
		return nil, err
	}
	prefix := key + "\x00"
	c := tx.Bucket(bucketGraves).Cursor()
	for k, v := c.Seek([]byte(prefix)); k != nil && strings.HasPrefix(string(k), prefix); k, v = c.Next() {
		if !graveOf(string(k), key) {
			continue
		}
		g, err := decodeGrave(k, v)
		if err != nil {
			return nil, err
		}
		found[g.inc] = g
	}
	for _, t := range m.tables() {
		t.graves.Ascend(prefix, func(k string, g grave) bool {
			if graveOf(k, key) {
				found[g.inc] = g
			}
			return strings.HasPrefix(k, prefix)
		})
	}
	var out []grave
	for _, inc := range slices.Backward(slices.Sorted(maps.Keys(found))) {
		if g := found[inc]; g.deadline > m.meta.clock {
			out = append(out, g)
		}
	}
	return out, nil
}

// latestGrave returns the time until which ids of deleted sessions of key count.
func (m *Machine) latestGrave(key string) (int64, error) {
	graves, err := m.graves(key)
	latest := int64(0)
	for _, g := range graves {
		latest = max(latest, g.deadline)
	}
	return latest, err
}
