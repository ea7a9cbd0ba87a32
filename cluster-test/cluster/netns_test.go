package cluster

import "testing"

func TestNamespaces(t *testing.T) {
	n, err := newNamespaces([]string{"n1", "n2"})
	if err != nil {
		t.Skip(err)
	}
	n.set("n1", "n2", Flow{Hold: true})
	n.set("n1", "n2", Flow{})
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
