package cluster

import (
	"testing"

	"github.com/turnlog/turnlog/internal/faultproxy"
)

func TestNamespaces(t *testing.T) {
	n, err := newNamespaces([]string{"n1", "n2"})
	if err != nil {
		t.Skip(err)
	}
	n.set("n1", "n2", faultproxy.Flow{Hold: true})
	n.set("n1", "n2", faultproxy.Flow{})
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
