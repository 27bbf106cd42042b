package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// load reads a file as Docker Compose does: by its schema, with the variables set.
func load(t *testing.T, file, text string) (*types.Project, error) {
	t.Helper()
	at, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	if text == "" {
		b, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(at),
		ConfigFiles: []types.ConfigFile{{Filename: at, Content: []byte(text)}},
		Environment: types.Mapping{"BROWSERD_TOKEN": "0123456789abcdef", "BROWSERD_STATE__KEY": "a key of sixteen and more", "POSTGRES_PASSWORD": "password"},
	}, func(o *loader.Options) { o.SetProjectName("browserd", true) })
}

const fleetFile = "../../deploy/compose/compose.yaml"

// The files are Compose's, their daemons are as closed as they can be, and the fleet's differ in
// their names alone.
func TestComposeFiles(t *testing.T) {
	for _, file := range []string{"../../docker/compose.yaml", fleetFile} {
		p, err := load(t, file, "")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		nodes := 0
		for name, s := range p.Services {
			if s.Privileged || s.NetworkMode == "host" || s.Pid == "host" || len(s.CapAdd) > 0 || s.MemLimit == 0 {
				t.Errorf("%s: %s is privileged, or has no limit", file, name)
			}
			for _, port := range s.Ports {
				if port.HostIP != "127.0.0.1" {
					t.Errorf("%s: %s is reached from other machines, at port %s", file, name, port.Published)
				}
			}
			if s.Image != "browserd" {
				continue
			}
			nodes++
			if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.PidsLimit == 0 || s.ShmSize == 0 {
				t.Errorf("%s: %s is not closed", file, name)
			}
			profile := false
			for _, o := range s.SecurityOpt {
				if path, ok := strings.CutPrefix(o, "seccomp="); ok {
					_, err := os.Stat(filepath.Join(filepath.Dir(file), path))
					profile = err == nil
				}
			}
			if !profile {
				t.Errorf("%s: %s has no seccomp profile: %v", file, name, s.SecurityOpt)
			}
			if file == fleetFile && (s.Environment["BROWSERD_FLEET__NAME"] == nil || *s.Environment["BROWSERD_FLEET__NAME"] != name || s.Environment["BROWSERD_FLEET__DSN"] == nil) {
				t.Errorf("%s: %s is called %v in its fleet", file, name, s.Environment["BROWSERD_FLEET__NAME"])
			}
		}
		if want := map[bool]int{true: 3, false: 1}[file == fleetFile]; nodes != want {
			t.Errorf("%s: %d daemons, want %d", file, nodes, want)
		}
	}
}

// A key that Compose does not know, and a variable that is not set, are found.
func TestComposeFilesWithFaults(t *testing.T) {
	b, err := os.ReadFile(fleetFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, fault string }{
		{"restart: unless-stopped", "restarts: unless-stopped", "restarts"},
		{"retries: 30", "retries: [30]", "retries"},
		{"depends_on: [one, two, three]", "depends_on: [one, two, four]", "four"},
		{"${POSTGRES_PASSWORD:?", "${POSTGRES_SECRET:?", "POSTGRES_SECRET"},
	} {
		_, err := load(t, fleetFile, strings.Replace(string(b), c.from, c.to, 1))
		if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v", c.to, err)
		}
	}
}

// The proxy takes its configuration.
func TestProxy(t *testing.T) {
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skip("haproxy is not installed")
	}
	if out, err := exec.Command(haproxy, "-c", "-f", "../../deploy/compose/haproxy.cfg").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
