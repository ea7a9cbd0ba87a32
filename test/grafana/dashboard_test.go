// Package grafana holds the dashboard in deploy/grafana to Grafana's own schema, and to what its readers need. That its
// queries find something is tested by test/alerts.
package grafana

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

func read(t *testing.T) []byte {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile("../../deploy/grafana/turnlog.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// wrong returns err unless it is an empty list, which the schema's decoders also return.
func wrong(err error) error {
	var list cog.BuildErrors
	if errors.As(err, &list) && len(list) == 0 {
		return nil
	}
	return err
}

// strict holds a dashboard to the schema. Its decoder does not look at fields of values, and forgets errors in queries,
// so these are held to it one by one.
func strict(text []byte) error {
	var d dashboard.Dashboard
	errs := []error{wrong(d.UnmarshalJSONStrict(text)), wrong(d.Validate())}
	var parts struct {
		Panels []struct {
			FieldConfig json.RawMessage   `json:"fieldConfig"`
			Targets     []json.RawMessage `json:"targets"`
		} `json:"panels"`
	}
	errs = append(errs, json.Unmarshal(text, &parts))
	for _, panel := range parts.Panels {
		errs = append(errs, wrong(new(dashboard.FieldConfigSource).UnmarshalJSONStrict(panel.FieldConfig)))
		for _, query := range panel.Targets {
			errs = append(errs, wrong(new(prometheus.Dataquery).UnmarshalJSONStrict(query)))
		}
	}
	return errors.Join(errs...)
}

// TestSchema: each field of the dashboard, its panels, their options and their queries is one that Grafana knows, and
// what it requires is there.
func TestSchema(t *testing.T) {
	if err := strict(read(t)); err != nil {
		t.Error(err)
	}
}

// TestStrict: the schema rejects what it does not know, wherever that is.
func TestStrict(t *testing.T) {
	text := read(t)
	for name, change := range map[string]func(d, panel map[string]any){
		"of the dashboard": func(d, _ map[string]any) { d["titel"] = "x" },
		"of a panel":       func(_, p map[string]any) { p["titel"] = "x" },
		"of options":       func(_, p map[string]any) { p["options"].(map[string]any)["legende"] = "x" },
		"of values":        func(_, p map[string]any) { p["fieldConfig"].(map[string]any)["default"] = "x" },
		"of a query":       func(_, p map[string]any) { p["targets"].([]any)[0].(map[string]any)["expression"] = "x" },
		"of a wrong type":  func(_, p map[string]any) { p["title"] = 7 },
	} {
		var d map[string]any
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		change(d, d["panels"].([]any)[0].(map[string]any))
		changed, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if strict(changed) == nil {
			t.Errorf("a wrong field %s was taken", name)
		}
	}
}

// TestPanels: each panel says what it shows, in which unit, by which series, and none covers another one.
func TestPanels(t *testing.T) {
	var d dashboard.Dashboard
	if err := json.Unmarshal(read(t), &d); err != nil {
		t.Fatal(err)
	}
	known := []string{units.Short, units.Seconds, units.BytesIEC, units.OpsPerSecond}
	var ids []uint32
	taken := map[[2]uint32]string{}
	for _, each := range d.Panels {
		p := each.Panel
		if p == nil || p.Title == nil || p.Id == nil || p.GridPos == nil || p.FieldConfig == nil {
			t.Fatalf("a panel without title, id, place or values: %+v", p)
		}
		if p.Description == nil || len(*p.Description) < 10 {
			t.Errorf("%s: no description", *p.Title)
		}
		if unit := p.FieldConfig.Defaults.Unit; unit == nil || !slices.Contains(known, *unit) {
			t.Errorf("%s: no unit, or one that this test does not know", *p.Title)
		}
		if slices.Contains(ids, *p.Id) {
			t.Errorf("%s: the id %d is another panel's, too", *p.Title, *p.Id)
		}
		ids = append(ids, *p.Id)
		for _, query := range p.Targets {
			if q, ok := query.(*prometheus.Dataquery); !ok || q.LegendFormat == nil || *q.LegendFormat == "" {
				t.Errorf("%s: a query that is not for Prometheus, or has no legend: %+v", *p.Title, query)
			}
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]uint32{x, y}]; other != "" {
					t.Fatalf("%s and %s are at the same place", *p.Title, other)
				}
				taken[[2]uint32{x, y}] = *p.Title
			}
		}
	}
}
