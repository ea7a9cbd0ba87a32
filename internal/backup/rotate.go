package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// Rotate removes the oldest backups of a cluster until keep of them are left, and then the packs that no backup
// needs any more. It returns the names of the backups that it removed. The backup named added, the last one, says
// which cluster. Nothing is removed unless added goes further than all others and can be read back whole, else the
// error is ErrNotReadBack; nor while a backup cannot be read for a reason that may pass. Backups of other clusters,
// backups that are damaged or newer than this version, and objects that are no backups stay.
func (r *Repository) Rotate(ctx context.Context, added string, keep int) (removed []string, err error) {
	d, _, err := VerifyIn(ctx, r, added) // all of it: what it rests on may have been damaged since it was written
	if err != nil {
		return nil, fmt.Errorf("%s %w: %w", r.Path(added), ErrNotReadBack, err)
	}
	all, err := List(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.Err != nil && !turn.Is(e.Err, turn.Corrupt) && !turn.Is(e.Err, turn.Newer) {
			return nil, fmt.Errorf("%s cannot be read: %w", e.Path, e.Err) // it may be one that goes further
		}
	}
	all = slices.DeleteFunc(all, func(e Entry) bool { return e.Err != nil || e.Description.ClusterID != d.ClusterID })
	if !slices.ContainsFunc(all, func(e Entry) bool { return e.Name == added }) {
		return nil, fmt.Errorf("%s is not among what the storage lists", r.Path(added))
	}
	if newest := all[len(all)-1]; newest.Name != added {
		return nil, fmt.Errorf("%s goes further than %s, which was added last", newest.Path, r.Path(added))
	}
	for len(all) > keep {
		if err := r.remove(ctx, all[0].Name); err != nil {
			return removed, err
		}
		removed = append(removed, all[0].Name)
		all = all[1:]
	}
	return removed, r.Collect(ctx)
}

// ErrNotReadBack is in an error of Rotate if what was added last, or what it rests on, is damaged or cannot be read.
var ErrNotReadBack = errors.New("cannot be read back")

// remove removes an object as long as the storage is locked.
func (r *Repository) remove(ctx context.Context, name string) error {
	if err := r.lock.Held(ctx); err != nil {
		return err
	}
	return r.Remove(ctx, name)
}

// Collect removes the packs that no backup needs. It removes none while a backup cannot be read, since it is not
// known which packs that one needs.
func (r *Repository) Collect(ctx context.Context) error {
	there, err := r.packSizes(ctx)
	if err != nil || len(there) == 0 {
		return err
	}
	objects, err := r.Storage.List(ctx, "")
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !isSplit(o.Name) || !IsBackup(o.Name) {
			continue
		}
		packs, err := readPacks(ctx, r, o.Name)
		if err != nil {
			return fmt.Errorf("packs were kept, since %s, which may need them, cannot be read: %w", r.Path(o.Name), err)
		}
		for _, p := range packs {
			delete(there, p.Name)
		}
	}
	var unused []string
	for name := range there {
		unused = append(unused, name)
	}
	slices.Sort(unused)
	for _, name := range unused {
		if err := r.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
