package script

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/browserd/browserd/actions/script/child"
	"github.com/browserd/browserd/contain"
)

// Pool starts the processes of scripts, and keeps one ready after the first script.
// The zero value is not usable: see NewPool. Close it.
type Pool struct {
	config  Config
	program string

	// Values are the values that were too long for one answer.
	Values Values

	mu           sync.Mutex
	running      map[int]int // scripts that run, by the number of their token
	throttle     *cpuThrottle
	ready        chan *process // holds the process that waits for a script, or nil if it could not be started; nil: none
	closed       bool
	noNamespaces bool // namespaces are not available here
	processes    sync.WaitGroup
}

// NewPool makes a pool that starts nothing yet.
func NewPool(c Config) (*Pool, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return &Pool{config: c, program: program, running: map[int]int{}, throttle: newCPUThrottle()}, nil
}

// startTimeout is how long a process may take until it is ready for a script.
const startTimeout = 20 * time.Second

// process is a child that waits for a script or runs one.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	pipe io.Closer
	once sync.Once

	reading sync.WaitGroup // the goroutine of listen
	end     error          // why no further message comes; written by listen
}

func (c *process) kill() { c.cmd.Process.Kill() }

// take returns a process that is ready, and starts the next one.
func (p *Pool) take(ctx context.Context) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fmt.Errorf("starting a script's process: the daemon stops")
	}
	waiting := p.ready
	p.ready = make(chan *process, 1) // one: the goroutine that starts it need not wait for a reader
	next := p.ready
	p.processes.Add(1)
	p.mu.Unlock()
	defer func() {
		go func() { // ends with the process's start, which startTimeout limits
			defer p.processes.Done()
			c, _ := p.start(context.Background())
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.closed && c != nil {
				p.discard(c)
				c = nil
			}
			next <- c
		}()
	}()
	if waiting != nil {
		select {
		case c := <-waiting:
			if c != nil {
				return c, nil
			}
		case <-ctx.Done():
			go func() { // nobody waits for the process any more
				if c := <-waiting; c != nil {
					p.discard(c)
				}
			}()
			return nil, context.Cause(ctx)
		}
	}
	return p.start(ctx)
}

// start starts a process and waits until it is ready.
func (p *Pool) start(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	p.mu.Lock()
	noNamespaces := p.noNamespaces
	p.mu.Unlock()
	c, err := p.spawn(noNamespaces)
	if err != nil && !noNamespaces {
		if c, err = p.spawn(true); err == nil {
			p.mu.Lock()
			p.noNamespaces = true
			p.mu.Unlock()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("starting a script's process: %w", err)
	}
	stop := context.AfterFunc(ctx, c.kill)
	var m child.Message
	err = child.ReadFrame(c.out, &m)
	if !stop() || err != nil || !m.Ready {
		p.discard(c)
		return nil, fmt.Errorf("starting a script's process: it did not get ready: %w", err)
	}
	return c, nil
}

// spawn starts this program as a child: no environment, no files but two pipes, no
// network, and, unless bare, namespaces of its own.
func (p *Pool) spawn(noNamespaces bool) (*process, error) {
	cmd := exec.Command(p.program)
	cmd.Args, cmd.Env, cmd.Dir = []string{child.Name}, []string{}, string(os.PathSeparator)
	cmd.SysProcAttr = contain.Attr(noNamespaces)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := contain.Start(cmd); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return &process{cmd: cmd, in: in, out: bufio.NewReader(out), pipe: out}, nil
}

// discard kills a process, if it still runs, and waits for its end in the background.
func (p *Pool) discard(c *process) {
	c.once.Do(func() {
		c.kill()
		c.in.Close()
		p.processes.Add(1)
		go func() { // ends with the process, which was killed
			defer p.processes.Done()
			c.reading.Wait() // Cmd.Wait closes what it reads from
			c.cmd.Wait()
		}()
	})
}

// Close kills the process that waits and lets no further one start. It returns when all
// have ended; scripts that still run end with their context.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	waiting := p.ready
	p.ready = nil
	p.mu.Unlock()
	if waiting != nil {
		if c := <-waiting; c != nil {
			p.discard(c)
		}
	}
	p.processes.Wait()
}

// Namespaces reports whether scripts run in namespaces of their own, as far as is known.
func (p *Pool) Namespaces() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return contain.Namespaces && !p.noNamespaces
}
