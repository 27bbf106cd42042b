// Chart draws docs/peers.svg, browserd beside its peers, from the newest run in
// bench/results. A test fails where the committed file is another.
//
//	go run ./chart
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	results := flag.String("results", "results", "directory of the runs; the last *-peers.md is drawn")
	out := flag.String("out", filepath.Join("..", "docs", "peers.svg"), "the file to write")
	flag.Parse()
	svg, err := drawNewest(*results)
	if err == nil {
		err = os.WriteFile(*out, svg, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// drawNewest draws the run whose file name, which begins with its date, comes last.
func drawNewest(dir string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*-peers.md"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no *-peers.md in %s", dir)
	}
	file := files[len(files)-1]
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	panels, err := r.panels()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return draw(panels, fmt.Sprintf("%s, browserd %s. Drawn from bench/results/%s by make chart.", r.date, r.commit, filepath.Base(file))), nil
}
