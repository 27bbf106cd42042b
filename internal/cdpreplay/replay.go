package main

import (
	"container/heap"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"
	"time"
)

// player answers as a recording did. Its methods run on one goroutine, but for send.
type player struct {
	*recording
	made     int
	contexts map[string]*playing // by the ids of contexts, targets and cdp sessions
	missing  string              // the file for what was never recorded
	due      chan reply
}

// playing is a browser context that repeats a life.
type playing struct {
	life  *life
	stage int
	asked map[string]int    // how often, in this stage
	ids   map[string]string // of the whole life, recorded and new
	doc   map[string]string // those of this stage
}

// reply is a message that waits for its time.
type reply struct {
	at    time.Time
	order int
	text  string
}

// replayFrom answers requests until the pipe ends.
func replayFrom(path string, commands io.Reader, answers io.WriteCloser) error {
	r, err := load(path)
	if err != nil {
		return err
	}
	p := &player{recording: r, contexts: map[string]*playing{}, missing: path + ".missing", due: make(chan reply, 1024)}
	go func() {
		p.send(answers)
		answers.Close()
		os.Exit(0)
	}()
	for text := range messages(commands) {
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			return err
		}
		p.answer(m)
	}
	return nil
}

// answer has a request answered, and the events sent that followed it.
func (p *player) answer(m message) {
	now := time.Now()
	c := p.contexts[m.SessionID]
	if c == nil {
		c = p.contexts[m.Params.BrowserContextID]
	}
	if m.Method == "Target.createBrowserContext" {
		l := p.lives[p.made%len(p.lives)]
		p.made++
		c = &playing{life: l, asked: map[string]int{}, ids: map[string]string{}, doc: map[string]string{}}
		for old := range l.ids {
			id := fresh(old)
			c.ids[old], p.contexts[id] = id, c
		}
	}
	x := p.root[m.key()]
	if c != nil {
		x = c.next(m)
	}
	if x == nil {
		p.miss(m)
		p.due <- reply{now, 0, fmt.Sprintf(`{"id":%d,"error":{"code":-32601,"message":"never recorded"}%s}`, m.ID, sessionOf(m))}
		return
	}
	for _, e := range x.events {
		p.due <- reply{now.Add(e.after), 0, c.text(e.parts)}
	}
	p.due <- reply{now.Add(x.answer.after), 0, fmt.Sprintf(`{"id":%d,`, m.ID) + c.text(x.answer.parts)}
	switch m.Method {
	case "Target.disposeBrowserContext":
		for _, id := range c.ids {
			delete(p.contexts, id)
		}
	case "Browser.close":
		close(p.due)
		select {} // send ends the process
	}
}

func sessionOf(m message) string {
	if m.SessionID == "" {
		return ""
	}
	return fmt.Sprintf(`,"sessionId":%q`, m.SessionID)
}

// next returns the exchange that a request repeats: in this stage the next one alike, or the last one where
// there is no more; else the last one of any other stage.
func (c *playing) next(m message) *exchange {
	if m.Method == navigate {
		if c.stage++; c.stage == len(c.life.stages) {
			c.stage = 2 // the first navigation is another than those that follow
		}
		c.asked, c.doc = map[string]int{}, map[string]string{}
	}
	key := m.key()
	if list := c.life.stages[c.stage].byKey[key]; len(list) > 0 {
		n := min(c.asked[key], len(list)-1)
		c.asked[key]++
		return list[n]
	}
	for _, s := range c.life.stages {
		if list := s.byKey[key]; len(list) > 0 {
			return list[len(list)-1]
		}
	}
	return nil
}

// text puts a message together, with ids of its own.
func (c *playing) text(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 1 && c != nil {
			part = c.id(part)
		}
		b.WriteString(part)
	}
	return b.String()
}

func (c *playing) id(old string) string {
	if id := c.ids[old]; id != "" {
		return id
	}
	if c.doc[old] == "" {
		c.doc[old] = fresh(old)
	}
	return c.doc[old]
}

// fresh makes an id like another.
func fresh(like string) string {
	if !strings.Contains(like, ".") {
		var b [16]byte
		rand.Read(b[:])
		return fmt.Sprintf("%X", b)
	}
	n, _ := rand.Int(rand.Reader, big.NewInt(8e18))
	return fmt.Sprint(n.Int64()+1e18, ".", n.Int64()/3+1e18)
}

// miss writes down what was never recorded.
func (p *player) miss(m message) {
	f, err := os.OpenFile(p.missing, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		fmt.Fprintln(f, m.key())
		f.Close()
	}
}

// send writes each message when its time has come.
func (p *player) send(w io.Writer) {
	var waiting replies
	timer := time.NewTimer(0)
	order := 0
	for p.due != nil || len(waiting) > 0 {
		if len(waiting) > 0 {
			timer.Reset(time.Until(waiting[0].at))
		}
		select {
		case r, open := <-p.due:
			if !open {
				p.due = nil
				continue
			}
			order++
			r.order = order
			heap.Push(&waiting, r)
		case <-timer.C:
			if len(waiting) > 0 && !waiting[0].at.After(time.Now()) {
				r := heap.Pop(&waiting).(reply)
				if _, err := io.WriteString(w, r.text+"\x00"); err != nil {
					return
				}
			}
		}
	}
}

// replies is a heap of what waits, the earliest first.
type replies []reply

func (r replies) Len() int { return len(r) }
func (r replies) Less(i, j int) bool {
	return r[i].at.Before(r[j].at) || r[i].at.Equal(r[j].at) && r[i].order < r[j].order
}
func (r replies) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *replies) Push(x any)   { *r = append(*r, x.(reply)) }
func (r *replies) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}
