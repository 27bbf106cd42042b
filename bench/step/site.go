package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// hook is put at the end of every task's page. It seeds the page's dice, starts
// the episode that ?seed and ?episode name, with time enough for any tool, and
// tells the harness the words of the task and, at the end, the raw reward (the
// one that does not shrink with time). No player sees it.
const hook = `<script>
(() => {
  const q = new URLSearchParams(location.search);
  if (!q.has('episode')) return;
  const tell = (what) => {
    const x = new XMLHttpRequest();
    x.open('POST', '/harness?episode=' + q.get('episode'), false);
    x.send(JSON.stringify(what));
  };
  const end = core.endEpisode;
  core.endEpisode = (reward, shrinks, reason) => {
    const running = core.EP_TIMER !== null;
    if (running) tell({done: true, reward: +reward, reason: String(reason || '')});
    return end(reward, shrinks, reason);
  };
  addEventListener('load', () => {
    const start = () => {
      if (!WOB_TASK_READY) { setTimeout(start, 5); return; }
      Math.seedrandom(q.get('seed'));
      core.EPISODE_MAX_TIME = 600000;
      core.startEpisodeReal();
      const said = core.getUtterance();
      tell(typeof said === 'string' ? {words: said} : {words: said.utterance, fields: said.fields});
    };
    start();
  });
})();
</script>`

// won tells whether the page was content: the whole reward, which one has for
// the whole task.
func (e *episode) won() bool {
	select {
	case <-e.ended:
		return e.Reward >= 0.99
	default:
		return false
	}
}

// site serves the pages on loopback and knows how each episode went.
type site struct {
	dir    string // MiniWoB++'s miniwob/html
	todo   string // TodoMVC's examples; empty where there are none
	url    string
	server *http.Server

	mu       sync.Mutex
	last     int
	episodes map[int]*episode
}

// episode is one play of one task with one seed.
type episode struct {
	Words  string            // what is asked, once the page has started it
	Fields map[string]string // the same in parts, of the tasks that give them
	Done   bool              // the page has ended it
	Reward float64           // the raw reward
	Reason string            // what the page says of it
	told   chan struct{}     // closed when Words has come
	ended  chan struct{}     // closed when Done
}

// tasksIn returns the names of the tasks in dir, a copy of the repository or of
// its miniwob/html, and the latter's path.
func tasksIn(dir string) (root string, names []string, err error) {
	for _, below := range []string{"", "html", "miniwob/html"} {
		root = filepath.Join(dir, below)
		pages, _ := filepath.Glob(filepath.Join(root, "miniwob", "*.html"))
		for _, p := range pages {
			names = append(names, strings.TrimSuffix(filepath.Base(p), ".html"))
		}
		if len(names) > 0 {
			return root, names, nil
		}
	}
	return "", nil, fmt.Errorf("no MiniWoB++ in %s: want a copy of github.com/Farama-Foundation/miniwob-plusplus", dir)
}

// newSite serves MiniWoB++ and, where todo is not empty, TodoMVC.
func newSite(dir, todo string) (*site, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{dir: dir, todo: todo, url: "http://" + l.Addr().String(), episodes: map[int]*episode{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /harness", s.harness)
	mux.HandleFunc("GET /todomvc/", s.todoPage)
	mux.HandleFunc("GET /", s.page)
	s.server = &http.Server{Handler: mux}
	go s.server.Serve(l)
	return s, nil
}

func (s *site) close() { s.server.Close() }

// begin makes an episode; its page is at the address returned.
func (s *site) begin(task string, seed int) (*episode, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	e := &episode{told: make(chan struct{}), ended: make(chan struct{})}
	s.episodes[s.last] = e
	path := "miniwob/" + task + ".html"
	if app, ok := strings.CutPrefix(task, todoPrefix); ok {
		path = "todomvc/" + app + "/index.html"
	}
	return e, fmt.Sprintf("%s/%s?seed=%d&episode=%d", s.url, path, seed, s.last)
}

func (s *site) page(w http.ResponseWriter, r *http.Request) {
	path := filepath.Join(s.dir, filepath.FromSlash(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(r.URL.Path)), "/")))
	if !strings.HasSuffix(path, ".html") {
		http.ServeFile(w, r, path)
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	before, after, found := bytes.Cut(b, []byte("</body>"))
	w.Write(before)
	io.WriteString(w, hook)
	if found {
		io.WriteString(w, "</body>")
	}
	w.Write(after)
}

func (s *site) harness(w http.ResponseWriter, r *http.Request) {
	var told struct {
		Words  *string
		Fields map[string]string
		Done   bool
		Reward float64
		Reason string
	}
	var id int
	fmt.Sscan(r.URL.Query().Get("episode"), &id)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.episodes[id]
	if e == nil || json.NewDecoder(r.Body).Decode(&told) != nil {
		http.Error(w, "no such episode", http.StatusNotFound)
		return
	}
	if told.Words != nil && e.Words == "" {
		e.Words, e.Fields = *told.Words, told.Fields
		close(e.told)
	}
	if told.Done && !e.Done {
		e.Done, e.Reward, e.Reason = true, told.Reward, told.Reason
		close(e.ended)
	}
}

// words waits for what the page asks.
func (s *site) words(ctx context.Context, e *episode) (string, error) {
	select {
	case <-e.told:
		return e.Words, nil
	case <-time.After(10 * time.Second):
		return "", fmt.Errorf("the page did not start its episode")
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// over tells whether the page has ended the episode, now or within wait.
func (s *site) over(e *episode, wait time.Duration) bool {
	select {
	case <-e.ended:
		return true
	default:
	}
	select {
	case <-e.ended:
		return true
	case <-time.After(wait):
		return false
	}
}
