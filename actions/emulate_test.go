package actions

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

// A place is where it is said to be, and nowhere if that is not said.
func TestGeolocation(t *testing.T) {
	for _, test := range []struct {
		given string
		want  *protocol.Geolocation
		wrong string
	}{
		{`{}`, nil, "geolocation.latitude: is missing: accepts degrees from -90 to 90"},
		{`{"latitude":1}`, nil, "geolocation.longitude: is missing: accepts degrees from -180 to 180"},
		{`{"latitude":null,"longitude":2}`, nil, "geolocation.latitude: is missing: accepts degrees from -90 to 90"},
		{`{"latitude":99,"longitude":2}`, nil, "geolocation.latitude: accepts degrees from -90 to 90, not 99"},
		{`{"latitude":-90.5,"longitude":2}`, nil, "geolocation.latitude: accepts degrees from -90 to 90, not -90.5"},
		{`{"latitude":1,"longitude":180.1}`, nil, "geolocation.longitude: accepts degrees from -180 to 180, not 180.1"},
		{`{"latitude":1,"longitude":2,"accuracy":-1}`, nil, "geolocation.accuracy: accepts metres, at least 0, not -1"},
		{`{"latitude":0,"longitude":0}`, &protocol.Geolocation{}, ""},
		{`{"latitude":-90,"longitude":180,"accuracy":5}`, &protocol.Geolocation{Latitude: -90, Longitude: 180, Accuracy: 5}, ""},
	} {
		var p EmulateParams
		if err := json.Unmarshal([]byte(`{"geolocation":`+test.given+`}`), &p); err != nil {
			t.Fatal(err)
		}
		e, err := p.emulation()
		var said *protocol.Error
		switch {
		case test.wrong == "":
			if diff := cmp.Diff(e.Geolocation, test.want); err != nil || diff != "" {
				t.Errorf("%s: %v, got before want:\n%s", test.given, err, diff)
			}
		case !errors.As(err, &said) || said.Code != protocol.InvalidParams || said.Message != test.wrong || said.Details["parameter"] != "geolocation":
			t.Errorf("%s: got %v, want %s", test.given, err, test.wrong)
		}
	}
}
