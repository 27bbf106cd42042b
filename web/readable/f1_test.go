package readable

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/internal/untested"
)

// TestArticleExtraction scores Text on scrapinghub's article-extraction-benchmark
// as its evaluate.py does: shingles of four words, normalised per page. The
// benchmark is not part of this repository: ARTICLE_BENCHMARK names a checkout.
func TestArticleExtraction(t *testing.T) {
	dir := os.Getenv("ARTICLE_BENCHMARK")
	if dir == "" {
		untested.Skip(t, "ARTICLE_BENCHMARK does not name a checkout of article-extraction-benchmark")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "ground-truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth map[string]struct{ ArticleBody, URL string }
	if err := json.Unmarshal(raw, &truth); err != nil {
		t.Fatal(err)
	}
	var precision, recall mean
	for id, want := range truth {
		base, _ := url.Parse(want.URL)
		text, _ := fetch.Text(unzip(t, filepath.Join(dir, "html", id+".html.gz")), "text/html")
		got := Parse(t.Context(), text, base).Text()
		if got == "" {
			t.Errorf("%s: no text", id)
		}
		tp, fp, fn := match(want.ArticleBody, got)
		if testing.Verbose() {
			t.Logf("%.3f -%.3f +%.3f %s %s", tp, fn, fp, id[:8], want.URL)
		}
		if tp+fp > 0 {
			precision.add(tp / (tp + fp))
		}
		if tp+fn > 0 {
			recall.add(tp / (tp + fn))
		}
	}
	p, r := precision.value(), recall.value()
	f1 := 2 * p * r / (p + r)
	t.Logf("%d pages: F1 %.4f, precision %.4f, recall %.4f", len(truth), f1, p, r)
	if len(truth) < 181 || f1 < .95 {
		t.Errorf("F1 %.4f on %d pages, want at least .95 on 181", f1, len(truth))
	}
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64)  { m.sum += v; m.n++ }
func (m *mean) value() float64 { return m.sum / float64(m.n) }

func unzip(t *testing.T, path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var wordRE = regexp.MustCompile(`[\p{L}\p{N}_]+`)

// match counts the shingles that truth and text share, and those that only one
// of them has, as parts of all.
func match(truth, text string) (tp, fp, fn float64) {
	a, b := shingles(truth), shingles(text)
	for s, n := range a {
		tp += min(n, b[s])
		fn += max(0, n-b[s])
	}
	for s, n := range b {
		fp += max(0, n-a[s])
	}
	if sum := tp + fp + fn; sum > 0 {
		tp, fp, fn = tp/sum, fp/sum, fn/sum
	}
	return tp, fp, fn
}

func shingles(text string) map[string]float64 {
	words := wordRE.FindAllString(text, -1)
	counts := map[string]float64{}
	for i := 0; i < max(1, len(words)-3); i++ {
		if s := strings.Join(words[i:min(i+4, len(words))], " "); s != "" {
			counts[s]++
		}
	}
	return counts
}
