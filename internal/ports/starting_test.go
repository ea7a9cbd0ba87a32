package ports

import (
	"net"
	"os/exec"
	"sync"
	"testing"
)

// A port that is reserved can be listened on at once, though processes are being started meanwhile.
func TestReservedWhileProcessesStart(t *testing.T) {
	stop := make(chan struct{})
	var starts sync.WaitGroup
	defer starts.Wait()
	defer close(stop)
	for range 2 {
		starts.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					exec.Command("true").Run()
				}
			}
		})
	}
	var r Reserved
	defer r.Release()
	for range 300 {
		addrs, err := r.Addrs(1)
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", addrs[0])
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}
