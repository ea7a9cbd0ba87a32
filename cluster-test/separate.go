package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/nemesis"
)

// Choices of --network, beside bySeed.
const (
	proxies = "proxy"
	netns   = "netns"
)

// separateOf is the share of the runs of a group whose nodes have network namespaces: one in so many
// of those that can.
const separateOf = 4

// separate gives the nodes network namespaces if this run is to have such, and can: the kernel only
// cuts what is between nodes, and certificates are for the addresses of this machine. Where the
// machine has no namespaces, a run that the seed has chosen has proxies.
func (a *arguments) separate(s Scenario, seed uint64) Scenario {
	how := map[string]string{netns: yes, proxies: no, bySeed: bySeed}[a.network]
	if how == yes {
		s.Namespaces = true
		return s
	}
	s.Namespaces = s.separable() && a.byChoice(how, "network ", &s, seed, separateOf) && cluster.Separable() == nil
	return s
}

func (s *Scenario) separable() bool {
	faults, _ := nemesis.ByName(s.Nemesis) // check tells
	shapes := slices.ContainsFunc(faults, func(f nemesis.Fault) bool { return f.Shapes })
	return !shapes && !s.Disks && !s.Clocks && !s.Secure && !s.Upgrade && s.Alone == nil && s.Drive == nil &&
		!strings.HasPrefix(s.Name, evidencePrefix)
}

func checkNetwork(how string) error {
	if !slices.Contains([]string{"", proxies, netns, bySeed}, how) {
		return fmt.Errorf("--network is %s, %s or %s, not %q", proxies, netns, bySeed, how)
	}
	return nil
}
