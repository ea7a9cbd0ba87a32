package command

import "github.com/turnlog/turnlog/turn"

// relay passes tokens on until done is closed.
func relay(from <-chan struct{}, to chan<- struct{}, done <-chan struct{}) {
	for {
		select {
		case <-from:
			select {
			case to <- struct{}{}:
			default:
			}
		case <-done:
			return
		}
	}
}

// watchAll announces changes of any of the keys.
func (b *Backend) watchAll(keys []turn.Key) (changed chan struct{}, stop func()) {
	all := make(chan struct{}, 1)
	done := make(chan struct{})
	var stops []func()
	for _, k := range keys {
		one, stop := b.engine.Watch(k)
		stops = append(stops, stop)
		go relay(one, all, done)
	}
	return all, func() {
		close(done)
		for _, stop := range stops {
			stop()
		}
	}
}
