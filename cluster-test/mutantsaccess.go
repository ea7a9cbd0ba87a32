package main

import "time"

// accessMutants break users and certificates.
func accessMutants() []mutant {
	return []mutant{
		{Name: "rights-remembered", About: "a Redis connection keeps the rights that its user had",
			Edits: []edit{{Old: "\tif set == c.who.set {\n\t\treturn\n\t}\n\tc.who.set = set\n",
				New: "\tif set == c.who.set || c.who.user != nil {\n\t\treturn\n\t}\n\tc.who.set = set\n"}},
			Catchers: []catcher{{Scenario: "calm", Time: 12 * time.Second, Nemesis: "rights-lost", Workloads: "append",
				Secure: true, Shows: []string{"without the right"}, Runs: 3}}},
		{Name: "certificates-kept", About: "a node shows the certificate that it was started with",
			Edits: []edit{{Old: "\terr := s.loadLocked()\n\tif err != nil {\n\t\ts.cfg",
				New: "\terr := error(nil)\n\tif err != nil {\n\t\ts.cfg"}},
			Catchers: []catcher{{Scenario: "calm", Time: 20 * time.Second, Nemesis: "renewed", Workloads: "append",
				Secure: true, Shows: []string{"answers as before"}, Runs: 3}}},
	}
}
