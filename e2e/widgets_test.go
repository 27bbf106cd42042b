package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// libraries are the widget libraries that the cases load from /lib/NAME/FILE:
// the npm packages, and the folders in them where the files lie.
var libraries = map[string][]library{
	"flatpickr":    {{"flatpickr@4.6.13", "dist"}},
	"sweetalert2":  {{"sweetalert2@11.4.8", "dist"}},
	"swagger":      {{"swagger-ui-dist@5.35.0", "."}},
	"bootstrap":    {{"bootstrap@5.3.8", "dist/css"}, {"bootstrap@5.3.8", "dist/js"}},
	"quill":        {{"quill@2.0.3", "dist"}},
	"codemirror":   {{"codemirror@5.65.21", "lib"}},
	"element-plus": {{"element-plus@2.14.8", "dist"}, {"vue@3.5.45", "dist"}},
}

type library struct{ pkg, folder string }

// widgetsKnown are the cases of widgets.json that do not pass, and why.
var widgetsKnown = map[string]string{}

// The 27 cases of ../shared/cases/widgets.json on widget libraries as they are
// on npm, unmodified.
func TestWidgetCases(t *testing.T) {
	t.Parallel()
	cases := readCases[playCase](t, "widgets.json")
	w := newPageServer(t)
	for name, parts := range libraries {
		var folders []string
		for _, l := range parts {
			folders = append(folders, filepath.Join(npmPackage(t, l.pkg), l.folder))
		}
		w.mux.HandleFunc("GET /lib/"+name+"/{file}", func(rw http.ResponseWriter, r *http.Request) {
			for _, folder := range folders {
				if file := filepath.Join(folder, filepath.Base(r.PathValue("file"))); exists(file) {
					http.ServeFile(rw, r, file)
					return
				}
			}
			http.NotFound(rw, r)
		})
	}
	// swagger-ui sends its request here; the case reports it before it leaves.
	w.mux.HandleFunc("/api/", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.Write([]byte(`{}`))
	})
	playAll(t, cases, w, 0.99, widgetsKnown)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
