package turn

import (
	"fmt"
	"slices"
	"strings"
)

// ZoneRisks says for each zone, of those that voters report, that its failure would leave no majority; nil if no such
// zone is known.
func (c *Cluster) ZoneRisks() (risks []string) {
	voters, byZone := 0, make(map[string][]string)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if !n.Voter {
			continue
		}
		voters++
		if n.Zone != "" {
			byZone[n.Zone] = append(byZone[n.Zone], n.ID)
		}
	}
	for zone, ids := range byZone {
		if voters > 1 && voters-len(ids) < voters/2+1 {
			risks = append(risks, fmt.Sprintf("%d of %d voters are in zone %s (%s): without it, there is no majority",
				len(ids), voters, zone, strings.Join(ids, ", ")))
		}
	}
	slices.Sort(risks)
	return risks
}
