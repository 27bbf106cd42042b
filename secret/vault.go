package secret

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Vault gives secrets to agents, and removes them from what agents are sent. Any goroutine may
// call its methods. A nil Vault has no secrets.
type Vault struct {
	// Tell has the other daemons of a fleet Hide values before an agent is given them here. After an error they are
	// not given. nil: the daemon serves alone. Set it before the first Give.
	Tell func(ctx context.Context, agent string, given []Given) error

	load func() (File, error)   // the newest file; cheap where it has not changed
	ours func(name string) bool // whether answers and events have members of that name; nil: none have

	mu    sync.Mutex
	codes map[string]*code     // of one-time codes, by name
	given map[string]*redactor // by agent, what it was given
}

// code is what a one-time code was last given for.
type code struct {
	sync.Mutex
	last uint64 // the time step of the last code that was promised
}

// NewVault returns a vault of the file that load returns whenever it is asked. ours reports whether
// members of that name are in answers and events: they are left as they are, whatever the secrets are.
func NewVault(load func() (File, error), ours func(name string) bool) *Vault {
	return &Vault{load: load, ours: ours, codes: map[string]*code{}, given: map[string]*redactor{}}
}

// Given is a value that an agent was given.
type Given struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// String keeps a value from being printed by mistake.
func (g Given) String() string { return "a secret (" + g.Kind + ")" }

// Listed is a secret as an agent is told of it.
type Listed struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Origins []string `json:"origins"`
}

// List returns what the agent may use, by name.
func (v *Vault) List(agent string) ([]Listed, error) {
	list := []Listed{}
	if v == nil {
		return list, nil
	}
	f, err := v.load()
	if err != nil {
		return nil, err
	}
	for _, s := range f.Secrets {
		if s.isFor(agent) {
			list = append(list, Listed{s.Name, s.Kind, slices.Clone(s.Origins)})
		}
	}
	slices.SortFunc(list, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (s Secret) isFor(agent string) bool {
	return len(s.Agents) == 0 || slices.Contains(s.Agents, agent)
}

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{secret:([^{}]*)\}\}`) })

// Names returns the secrets that a text names as {{secret:NAME}}, each once.
func Names(text string) []string {
	if !strings.Contains(text, "{{secret:") {
		return nil
	}
	var names []string
	for _, m := range placeholder().FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// Place returns a text with values in the place of the names.
func Place(text string, values map[string]string) string {
	return placeholder().ReplaceAllStringFunc(text, func(m string) string {
		return values[strings.TrimSuffix(strings.TrimPrefix(m, "{{secret:"), "}}")]
	})
}

// Give returns the secrets' values for an agent that may use them at an origin, and removes them
// from what the agent is sent from now on. A one-time code waits for one that was not given
// before. Errors: secret_denied with details.reason unknown, origin, source or many; ctx's cause; Tell's.
func (v *Vault) Give(ctx context.Context, agent, origin string, names []string) (map[string]string, error) {
	var f File
	if v != nil {
		var err error
		if f, err = v.load(); err != nil {
			return nil, err
		}
	}
	var secrets []Secret
	for _, name := range names {
		i := slices.IndexFunc(f.Secrets, func(s Secret) bool { return s.Name == name && s.isFor(agent) })
		if i < 0 {
			return nil, denied("unknown", "you have no secret %q", protocol.Cut(name, 64)).
				Then("secret_list names yours; the operator adds one with: browserd secret set NAME --origin ORIGIN")
		}
		s := f.Secrets[i]
		if !slices.Contains(s.Origins, origin) {
			return nil, denied("origin", "the secret %s is not given to %s", name, protocol.Cut(origin, 200)).With("origin", protocol.Cut(origin, 200)).With("origins", s.Origins).
				Then("use it in a field of a document with one of details.origins; only the operator can add an origin")
		}
		secrets = append(secrets, s)
	}
	values := map[string]string{}
	var given []Given
	for _, s := range secrets {
		value, err := v.valueOf(ctx, s)
		if err != nil {
			return nil, err
		}
		if !v.redactorOf(agent).add(value, s.Kind) {
			return nil, denied("many", "you were given %d secrets since the daemon began, as many as it removes from what you are sent", keptValues).
				Then("use those that you were given; the operator can restart the daemon, or all nodes of a fleet when your sessions are closed")
		}
		values[s.Name], given = value, append(given, Given{s.Kind, value})
	}
	if v.Tell != nil && len(given) > 0 {
		if err := v.Tell(ctx, agent, given); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Hide removes values that another daemon gives the agent from what the agent is sent here, in all of its sessions,
// also of secrets that it may not use any more.
func (v *Vault) Hide(agent string, given []Given) {
	if v != nil {
		v.redactorOf(agent).hide(given)
	}
}

// valueOf returns what is to be written for a secret.
func (v *Vault) valueOf(ctx context.Context, s Secret) (string, error) {
	value, err := s.value(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", denied("source", "the secret %s has no value now: %v", s.Name, err).Then("ask the operator: details are in the message, and browserd secret set replaces it")
	}
	if s.Kind != TOTP {
		return value, nil
	}
	key, err := parseTOTP(value)
	if err != nil {
		return "", denied("source", "the secret %s has no value now: %v", s.Name, err)
	}
	v.mu.Lock()
	c := v.codes[s.Name]
	if c == nil {
		c = &code{}
		v.codes[s.Name] = c
	}
	v.mu.Unlock()
	c.Lock()
	step, wait := nextStep(time.Now(), time.Duration(key.Period())*time.Second, c.last)
	deadline, ok := ctx.Deadline()
	late := ok && time.Until(deadline) < wait
	if !late {
		c.last = step // no other is given the same
	}
	c.Unlock()
	if late {
		return "", protocol.Errorf(protocol.Timeout, "the next one-time code of %s begins in %d s", s.Name, int(wait.Seconds())+1).
			With("waits_for", "a one-time code that was not used before").Then("send the command again with timeout_ms of %d and more", (wait + 10*time.Second).Milliseconds())
	}
	if err := waitFor(ctx, wait); err != nil {
		return "", err
	}
	return codeAt(key, step)
}

func denied(reason, format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.SecretDenied, format, args...).With("reason", reason)
}

// Has reports whether an agent has any secrets. An error in reading them counts as yes.
func (v *Vault) Has(agent string) bool {
	list, err := v.List(agent)
	return err != nil || len(list) > 0
}

func (v *Vault) redactorOf(agent string) *redactor {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.given[agent]
	if r == nil {
		r = &redactor{ours: v.ours}
		v.given[agent] = r
	}
	return r
}

// Redact returns JSON without the values that the agent was given: each is replaced by •••,
// also in the encodings that formsOf lists. It returns content itself where there is none in it.
func (v *Vault) Redact(agent string, content []byte) []byte {
	if r := v.has(agent); r != nil {
		return r.redact(content, true)
	}
	return content
}

// RedactText is that for a text, before a part of it is cut out: a value may not be
// read piece by piece.
func (v *Vault) RedactText(agent, text string) string {
	if r := v.has(agent); r != nil {
		content := []byte(text)
		if found := r.find(content, false); found != nil {
			return string(without(content, found))
		}
	}
	return text
}

// RedactPart is RedactText for a part of a file, from begin to end of content, which holds
// more around it, as far as Around says. Each byte of a value is replaced by one.
func (v *Vault) RedactPart(agent string, content []byte, begin, end int) []byte {
	if r := v.has(agent); r != nil {
		content = slices.Clone(content)
		for _, s := range r.find(content, false) {
			for i := s.from; i < s.to; i++ {
				content[i] = '*'
			}
		}
	}
	return content[begin:end]
}

// Around returns how many bytes before and behind a part of a file RedactPart has to see.
func (v *Vault) Around(agent string) int {
	r := v.has(agent)
	if r == nil {
		return 0
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	longest := 0
	for _, v := range r.values {
		for _, f := range v.text {
			longest = max(longest, len(f))
		}
	}
	return longest
}

// RedactAll is Redact for the daemon's log: of whatever agent, in a line of text or of JSON.
func (v *Vault) RedactAll(line []byte) []byte {
	if v == nil {
		return line
	}
	v.mu.Lock()
	all := slices.Collect(maps.Values(v.given))
	v.mu.Unlock()
	isJSON := len(all) > 0 && json.Valid(line)
	for _, r := range all {
		if line = r.redact(line, true); !isJSON {
			line = r.redact(line, false)
		}
	}
	return line
}

// Shows reports whether a text has a value, in any of its forms, that the agent was given and that no
// picture of the text should show: usernames are shown by the sites themselves.
func (v *Vault) Shows(agent, text string) (shows bool) {
	r := v.has(agent)
	if r == nil {
		return false
	}
	r.mu.RLock()
	hidden := r.hidden
	r.mu.RUnlock()
	hidden.find([]byte(text), func(int, int) { shows = true })
	return shows
}

// Gave reports whether the agent was given any value.
func (v *Vault) Gave(agent string) bool { return v.has(agent) != nil }

// has returns what the agent was given; nil: nothing.
func (v *Vault) has(agent string) *redactor {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.given[agent]
}

// String keeps a value from being printed by mistake.
func (s Secret) String() string { return fmt.Sprintf("secret %s (%s)", s.Name, s.Kind) }
