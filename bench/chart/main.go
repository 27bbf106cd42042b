// Chart draws the pictures of the documents: docs/peers.svg, browserd beside its peers,
// from the newest run in bench/results, and docs/session.svg, a session in a terminal,
// from docs/transcript.md. A test fails if a committed picture is stale.
//
//	go run ./chart
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	results := flag.String("results", "results", "directory of the runs; the last *-peers.md is drawn")
	docs := flag.String("docs", filepath.Join("..", "docs"), "directory of transcript.md, and of the pictures to write")
	flag.Parse()
	if err := drawAll(*results, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func drawAll(results, docs string) error {
	peers, err := drawNewest(results)
	if err != nil {
		return err
	}
	session, err := drawSession(docs)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(docs, "peers.svg"), peers, 0o644),
		os.WriteFile(filepath.Join(docs, "session.svg"), session, 0o644))
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
