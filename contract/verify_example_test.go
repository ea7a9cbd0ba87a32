package contract_test

import (
	"context"
	"fmt"
	"log"

	"github.com/turnlog/turnlog/contract"
)

// Outside of tests, Verify runs the cases that are selected and reports them.
func ExampleSuite_Verify() {
	d := &diary{pages: map[string][][]byte{}}
	suite := contract.Suite{
		Target: contract.Target{
			Name: "diary",
			Open: func(context.Context) (contract.Store, error) { return d, nil },
		},
		Cases: []string{"concurrency/first-turn", "edges/short"},
	}
	report, err := suite.Verify(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range report.Results {
		fmt.Println(r.Case.Name, r.Status)
	}
	// Output:
	// first-turn pass
	// short pass
}
