package e2e_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// corpusDate is the day by which the dependencies of the widgets are chosen.
const corpusDate = "2026-11-24"

// corpusPackages are the libraries of testdata/widgets, and what bundles those that come
// as modules only.
var corpusPackages = strings.Fields(`
	jquery@3.7.1 select2@4.0.13 tom-select@2.6.2 choices.js@11.2.4 slim-select@3.6.1 element-plus@2.14.8 vue@3.5.45 vuetify@4.3.0
	flatpickr@4.6.13 pikaday@1.8.2 air-datepicker@3.6.0 sortablejs@1.15.7 dropzone@6.3.5 nouislider@15.8.1 imask@7.6.1 cleave.js@1.6.0
	quill@2.0.3 codemirror@5.65.21 ace-builds@1.45.2 tinymce@8.9.2 monaco-editor@0.57.0 @xterm/xterm@6.0.0 tabulator-tables@6.5.3
	ag-grid-community@36.2.0 jstree@3.3.17 sweetalert2@11.26.25 bootstrap@5.3.9 @shoelace-style/shoelace@2.20.1 jquery-ui-dist@1.13.3
	inputmask@5.0.10 intl-tel-input@29.5.1 dragula@3.7.3 filepond@4.32.12 @yaireo/tagify@4.36.0 ion-rangeslider@2.5.0 fullcalendar@7.1.0
	awesomplete@1.1.7 micromodal@0.7.0 driver.js@1.8.0 gridstack@14.1.0 @simonwep/pickr@1.10.2 clusterize.js@1.0.0 datatables.net@3.1.5
	datatables.net-dt@3.1.2 notyf@3.10.0 jspreadsheet-ce@5.0.4 jsuites@5.13.5
	react@19.3.1 react-dom@19.3.1 react-select@5.10.2 @mui/material@9.5.0 @emotion/react@11.14.0 @emotion/styled@11.14.1
	@headlessui/react@2.2.10 @radix-ui/react-select@2.4.1 @radix-ui/react-dropdown-menu@2.2.1 @radix-ui/react-slider@1.6.1 cmdk@1.1.1
	react-datepicker@9.1.0 react-window@1.8.11 slate@0.146.0 slate-react@0.146.1 slate-dom@0.146.1 lexical@0.52.0 @lexical/rich-text@0.52.0
	prosemirror-state@1.4.4 prosemirror-view@1.42.9 prosemirror-model@1.25.13 prosemirror-schema-basic@1.2.5 prosemirror-keymap@1.2.3
	prosemirror-commands@1.7.2 @codemirror/lang-javascript@6.2.5 @codemirror/view@6.43.15 @codemirror/state@6.7.6
	@codemirror/autocomplete@6.20.4 @codemirror/commands@6.11.1 downshift@9.5.0 react-arborist@3.16.0 antd@6.6.8
	@esbuild/linux-x64@0.28.2`)

// corpusFloor is the share of the widgets that are operated by the refs of default snapshots.
const corpusFloor = 0.98

// corpusKnown are the widgets that are not, and why.
var corpusKnown = map[string]string{
	"jspreadsheet": "its document listens for the double clicks that its cells mean, and nothing else says so: find gives a cell its ref",
}

// Each page of testdata/widgets is a widget as its library makes it, unmodified. It begins
// with what is done to it, by the refs of default snapshots alone, and what it must report
// then. NAME.jsx is the script of a page whose library comes as modules.
func TestWidgetCorpus(t *testing.T) {
	t.Parallel()
	modules := npmModules(t, corpusDate, corpusPackages...)
	w := newPageServer(t)
	w.mux.Handle("GET /npm/", http.StripPrefix("/npm/", http.FileServer(http.Dir(modules))))
	w.mux.Handle("GET /bundle/", http.StripPrefix("/bundle/", http.FileServer(http.Dir(bundledWidgets(t, modules)))))
	files, err := filepath.Glob("testdata/widgets/*.html")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d widgets, %v", len(files), err)
	}
	var cases []playCase
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, body, ok := strings.Cut(strings.TrimPrefix(string(page), "<!-- "), " -->\n")
		c := playCase{ID: strings.TrimSuffix(filepath.Base(file), ".html"), Page: body, Retry: true, Digest: true}
		if err := json.Unmarshal([]byte(head), &c); err != nil || !ok {
			t.Fatalf("%s: %v", file, err)
		}
		cases = append(cases, c)
	}
	playAll(t, cases, w, corpusFloor, corpusKnown)
}

// bundledWidgets is a directory with the bundles of testdata/widgets/*.jsx.
func bundledWidgets(t *testing.T, modules string) string {
	t.Helper()
	scripts, err := filepath.Glob("testdata/widgets/*.jsx")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts to bundle: ", err)
	}
	out := t.TempDir()
	args := append([]string{"--bundle", "--format=iife", `--define:process.env.NODE_ENV="production"`, "--log-level=error", "--outdir=" + out}, scripts...)
	cmd := exec.Command(filepath.Join(modules, "@esbuild/linux-x64/bin/esbuild"), args...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("bundling the widgets: %v\n%s", err, text)
	}
	if made, err := fs.Glob(os.DirFS(out), "*.js"); err != nil || len(made) != len(scripts) {
		t.Fatalf("%d bundles of %d scripts, %v", len(made), len(scripts), err)
	}
	return out
}
