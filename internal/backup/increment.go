package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/turn"
)

// packsInFlight is how many packs are written while others are filled. Each is in memory.
const packsInFlight = 2

// Stored is what an incremental backup has added to its repository.
type Stored struct {
	Chunks int   `json:"chunks"` // of the whole state
	New    int   `json:"new"`    // of them, those that were written
	Bytes  int64 `json:"bytes"`  // written: packs, and the backup's file
	// Resumed counts the chunks that a backup had written that was interrupted.
	Resumed int `json:"resumed"`
	// Again says why chunks were written that the repository has; empty: none were.
	Again string `json:"again,omitempty"`
}

// Increment adds one incremental backup to a repository.
type Increment struct {
	repo  *Repository
	known *knownChunks
}

// Increment prepares a backup of a cluster: it reads what the repository has of that.
func (r *Repository) Increment(ctx context.Context, cluster string) (*Increment, error) {
	known, err := r.knownChunks(ctx, cluster)
	return &Increment{r, known}, err
}

// Add adds the backup of a dump, and writes of it only the chunks that neither the newest backup of the
// cluster nor one that was interrupted has brought. It verifies the dump as Write does. All that it writes is durable
// before the backup's file gets its name, which it returns. It is called once.
//
// It holds in memory three packs of 16 MiB, and about 100 bytes for each chunk of the state and of the newest backup.
func (i *Increment) Add(ctx context.Context, d Description, dump io.Reader) (string, Summary, Stored, error) {
	r := i.repo
	w, err := r.newIncrement(ctx, d, i.known)
	if err != nil {
		return "", Summary{}, Stored{}, err
	}
	content, err := w.read(dump)
	err = errors.Join(err, w.uploads.Wait())
	if err == nil {
		err = d.describes(&content, w.holds.Bytes)
	}
	if err != nil {
		return "", Summary{}, w.stored, err
	}
	w.holds.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	w.holds.Parts = len(w.places)
	w.holds.contains(&content)
	name := d.name(splitExt)
	if err := r.lock.Held(ctx); err != nil {
		return name, Summary{}, w.stored, err
	}
	most := int64(len(w.places)+len(w.packs))*128 + 1<<20
	err = r.Write(ctx, name, most, func(out io.Writer) error {
		return w.manifest.write(&frameWriter{w: io.MultiWriter(out, countingTo{&w.stored.Bytes})}, w.zip)
	})
	return name, w.holds, w.stored, err
}

// increment is a backup that is being added.
type increment struct {
	manifest
	repo   *Repository
	known  *knownChunks
	zip    *zstd.Encoder
	sum    hash.Hash // of the dump as a reader will make it
	stored Stored

	pack     *packBuffer // that is being filled; nil: none
	packAt   int         // its number in packs
	numbers  map[string]int
	own      map[digest]place // chunks that this backup has written
	uploads  *errgroup.Group
	uploadIn context.Context
}

func (r *Repository) newIncrement(ctx context.Context, d Description, known *knownChunks) (*increment, error) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	w := &increment{repo: r, known: known, zip: zip, sum: sha256.New(),
		numbers: map[string]int{}, own: map[digest]place{}}
	w.about, w.stored.Again = d, known.again
	w.uploads, w.uploadIn = errgroup.WithContext(ctx)
	w.uploads.SetLimit(packsInFlight)
	return w, nil
}

// read takes a dump apart, and writes the packs.
func (w *increment) read(dump io.Reader) (content statedump.Content, err error) {
	again, err := statedump.NewWriter(io.MultiWriter(w.sum, countingTo{&w.holds.Bytes}))
	if err != nil {
		return content, err
	}
	c := &chunker{emit: w.chunk}
	content, err = statedump.InspectPairs(dump, func(bucket, k, v []byte) error {
		if err := again.Pair(bucket, k, v); err != nil {
			return err
		}
		return c.pair(bucket, k, v)
	})
	if err != nil {
		return content, err
	}
	if n, err := io.Copy(io.Discard, dump); n > 0 || err != nil {
		return content, errors.Join(err, turn.Errorf(turn.Corrupt, "%d bytes follow the state's dump", n))
	}
	if err := errors.Join(again.End(), c.flush()); err != nil {
		return content, err
	}
	return content, w.endPack()
}

// countingTo counts the bytes that are written to it.
type countingTo struct{ n *int64 }

func (c countingTo) Write(p []byte) (int, error) {
	*c.n += int64(len(p))
	return len(p), nil
}

// chunk adds a chunk to the backup, and writes it unless it is there.
func (w *increment) chunk(pairs []byte) error {
	if w.uploadIn.Err() != nil {
		return w.uploadIn.Err() // why is what Wait returns
	}
	sum := digest(sha256.Sum256(pairs))
	w.stored.Chunks++
	if c, ok := w.own[sum]; ok {
		w.places = append(w.places, c)
		return nil
	}
	if c, ok := w.known.chunks[sum]; ok && int(c.length) == len(pairs) {
		p := w.known.packs[c.pack]
		if p.interrupted {
			w.stored.Resumed++
		}
		c.pack = w.number(p.packInfo)
		w.places = append(w.places, c)
		return nil
	}
	if w.pack == nil {
		w.pack = newPack()
		w.packAt = w.number(packInfo{Name: w.pack.name})
	}
	c := w.pack.add(w.zip, pairs, sum)
	c.pack = w.packAt
	w.own[sum] = c
	w.places = append(w.places, c)
	w.stored.New++
	if len(w.pack.buf) >= w.repo.packBytes {
		return w.endPack()
	}
	return nil
}

// number returns the number of a pack in the manifest.
func (w *increment) number(p packInfo) int {
	n, ok := w.numbers[p.Name]
	if !ok {
		n = len(w.packs)
		w.numbers[p.Name] = n
		w.packs = append(w.packs, p)
	}
	return n
}

// endPack writes the pack that is being filled, while the next one is filled.
func (w *increment) endPack() error {
	if w.pack == nil {
		return nil
	}
	b, name := w.pack.end(), w.pack.name
	w.pack = nil
	w.packs[w.packAt].Size = int64(len(b))
	w.stored.Bytes += int64(len(b))
	w.uploads.Go(func() error { // waits while packsInFlight are written
		return w.repo.Write(w.uploadIn, name, int64(len(b)), func(out io.Writer) error {
			_, err := out.Write(b)
			return err
		})
	})
	return nil
}

// knownChunks are the chunks of a repository that a new backup need not write.
type knownChunks struct {
	packs  []knownPack
	chunks map[digest]place
	again  string // why others are written again
}

type knownPack struct {
	packInfo
	interrupted bool // it was written by a backup that was not completed
}

// knownChunks reads what the newest backup of a cluster has in packs, and what interrupted ones left. What cannot be
// read is not known, and its chunks are written again.
func (r *Repository) knownChunks(ctx context.Context, cluster string) (*knownChunks, error) {
	k := &knownChunks{chunks: map[digest]place{}}
	there, err := r.packSizes(ctx)
	if err != nil {
		return nil, err
	}
	all, err := List(ctx, r)
	if err != nil {
		return nil, err
	}
	used, taken := map[string]bool{}, false
	for _, e := range slices.Backward(all) { // of a cluster, the one that goes furthest comes first
		if !isSplit(e.Name) {
			continue
		}
		packs, err := readPacks(ctx, r, e.Name)
		for _, p := range packs {
			used[p.Name] = true
		}
		if !taken && err == nil && e.Description.ClusterID == cluster {
			var m *manifest
			if m, err = readManifest(ctx, r, e.Name); err == nil {
				k.takeBackup(m, there)
				taken = true
			}
		}
		if err != nil {
			k.again = fmt.Sprintf("%s cannot be read: %v", e.Path, err)
		}
	}
	for name, size := range there {
		if !used[name] {
			k.takeInterrupted(ctx, r, packInfo{name, size})
		}
	}
	return k, ctx.Err()
}

// packSizes returns the packs that are there.
func (r *Repository) packSizes(ctx context.Context) (map[string]int64, error) {
	objects, err := r.Storage.List(ctx, packDir)
	sizes := map[string]int64{}
	for _, o := range objects {
		if isPack(o.Name) {
			sizes[o.Name] = o.Size
		}
	}
	return sizes, err
}

// takeBackup takes the chunks of a backup, but for those in packs of which it needs less than half: they are written
// again, so that such a pack can be removed when older backups are.
func (k *knownChunks) takeBackup(m *manifest, there map[string]int64) {
	needed := make([]int64, len(m.packs))
	for i := range m.places {
		needed[m.places[i].pack] += int64(m.places[i].stored)
	}
	take := make([]bool, len(m.packs))
	for i, p := range m.packs {
		switch size, ok := there[p.Name]; {
		case !ok || size != p.Size:
			k.again = fmt.Sprintf("the pack %s, which the last backup needs, is missing or cut short", p.Name)
		default:
			take[i] = needed[i] >= size/2
		}
		k.packs = append(k.packs, knownPack{packInfo: p})
	}
	for _, c := range m.places {
		if take[c.pack] {
			k.chunks[c.sum] = c
		}
	}
}

// takeInterrupted takes the chunks of a pack that no backup names.
func (k *knownChunks) takeInterrupted(ctx context.Context, s Storage, p packInfo) {
	places, err := readIndex(ctx, s, p)
	if err != nil {
		return // it is removed when the backup is complete
	}
	for _, c := range places {
		if _, ok := k.chunks[c.sum]; !ok {
			c.pack = len(k.packs)
			k.chunks[c.sum] = c
		}
	}
	k.packs = append(k.packs, knownPack{p, true})
}
