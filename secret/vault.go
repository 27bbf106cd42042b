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
	// HideAtPeers makes the other daemons of a fleet Hide values, before an agent is given them here. After an
	// error they are not given. nil: there is no fleet. Set it before the first Give.
	HideAtPeers func(ctx context.Context, agent string, given []Given) error

	load         func() (File, error)   // returns the current file; cheap if it has not changed
	isMemberName func(name string) bool // reports whether answers and events have members of that name; nil: none have

	mu        sync.Mutex
	codes     map[string]*code     // state of one-time codes, by the secret's name
	redactors map[string]*redactor // by agent: redacts what it was given
}

// code is the state of a one-time code.
type code struct {
	sync.Mutex
	last uint64 // the time step of the last code that was given, or will be
}

// NewVault returns a vault of the secrets in the file that load returns. load is called for each use.
// isMemberName reports whether answers and events have members of that name: such names are never redacted,
// whatever the secrets are.
func NewVault(load func() (File, error), isMemberName func(name string) bool) *Vault {
	return &Vault{load: load, isMemberName: isMemberName, codes: map[string]*code{}, redactors: map[string]*redactor{}}
}

// Given is a value that an agent was given. It is sent to other daemons as JSON.
type Given struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// String keeps a value from being printed by mistake.
func (g Given) String() string { return "a secret (" + g.Kind + ")" }

// Listed is what an agent may know about a secret.
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

// Substitute replaces {{secret:NAME}} in a text by the values, which are by name.
func Substitute(text string, values map[string]string) string {
	return placeholder().ReplaceAllStringFunc(text, func(m string) string {
		return values[strings.TrimSuffix(strings.TrimPrefix(m, "{{secret:"), "}}")]
	})
}

// Give returns the values of secrets for an agent that may use them at an origin. From now on they are removed
// from what the agent is sent. For a one-time code it waits until there is a code that was not given before.
// Errors: secret_denied with details.reason unknown, origin, source or many; ctx's cause; HideAtPeers'.
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
			return nil, denied("many", "you were given %d secrets since the daemon began, as many as it removes from what you are sent", maxValues).
				Then("use those that you were given; the operator can restart the daemon, or all nodes of a fleet when your sessions are closed")
		}
		values[s.Name], given = value, append(given, Given{s.Kind, value})
	}
	if v.HideAtPeers != nil && len(given) > 0 {
		if err := v.HideAtPeers(ctx, agent, given); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Hide removes values that another daemon gives the agent from what the agent is sent here, in all of its
// sessions. It does so even for secrets that the agent may not use any more.
func (v *Vault) Hide(agent string, given []Given) {
	if v != nil {
		v.redactorOf(agent).hide(given)
	}
}

// valueOf returns the value to write for a secret: its text, or a one-time code.
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
		c.last = step // so that no other caller gets the same code
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

func (v *Vault) redactorOf(agent string) *redactor {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.redactors[agent]
	if r == nil {
		r = &redactor{isMemberName: v.isMemberName}
		v.redactors[agent] = r
	}
	return r
}

// Redact returns JSON without the values that the agent was given: each is replaced by •••,
// also in the encodings that encodedForms lists. It returns content itself where there is none in it.
func (v *Vault) Redact(agent string, content []byte) []byte {
	if r := v.redactorIfGiven(agent); r != nil {
		return r.redact(content, true)
	}
	return content
}

// RedactText is Redact for a text. Call it before a part of the text is cut out, so that a value cannot be read
// piece by piece.
func (v *Vault) RedactText(agent, text string) string {
	if r := v.redactorIfGiven(agent); r != nil {
		content := []byte(text)
		if found := r.find(content, false); found != nil {
			return string(maskText(content, found))
		}
	}
	return text
}

// RedactCut is RedactText; cut: for a text that was cut before, without what may be left of a value at its end.
func (v *Vault) RedactCut(agent, text string, cut bool) string {
	text = v.RedactText(agent, text)
	if !cut {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, len(text)-v.RedactContext(agent))], "")
}

// RedactPart is RedactText for the part of a file from begin to end of content. content must have as much of
// the file around the part as RedactContext says. Each byte of a value is replaced by an asterisk, so that the
// length stays.
func (v *Vault) RedactPart(agent string, content []byte, begin, end int) []byte {
	if r := v.redactorIfGiven(agent); r != nil {
		content = slices.Clone(content)
		for _, s := range r.find(content, false) {
			for i := s.from; i < s.to; i++ {
				content[i] = '*'
			}
		}
	}
	return content[begin:end]
}

// RedactContext returns how many bytes before and after a part of a file RedactPart needs.
func (v *Vault) RedactContext(agent string) int {
	r := v.redactorIfGiven(agent)
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

// RedactAll is Redact for the values of all agents, in a line of text or of JSON, such as a line of the
// daemon's log.
func (v *Vault) RedactAll(line []byte) []byte {
	if v == nil {
		return line
	}
	v.mu.Lock()
	all := slices.Collect(maps.Values(v.redactors))
	v.mu.Unlock()
	isJSON := len(all) > 0 && json.Valid(line)
	for _, r := range all {
		if line = r.redact(line, true); !isJSON {
			line = r.redact(line, false)
		}
	}
	return line
}

// Shows reports whether a text has a value, in any of its forms, that the agent was given and must not see in a
// picture. Usernames do not count: sites show them.
func (v *Vault) Shows(agent, text string) (shows bool) {
	r := v.redactorIfGiven(agent)
	if r == nil {
		return false
	}
	r.mu.RLock()
	hidden := r.hidden
	r.mu.RUnlock()
	hidden.find([]byte(text), func(int, int) { shows = true })
	return shows
}

// HasGiven reports whether the agent was given any value.
func (v *Vault) HasGiven(agent string) bool { return v.redactorIfGiven(agent) != nil }

// redactorIfGiven returns the agent's redactor; nil if the agent was given no value.
func (v *Vault) redactorIfGiven(agent string) *redactor {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.redactors[agent]
}

// String keeps a value from being printed by mistake.
func (s Secret) String() string { return fmt.Sprintf("secret %s (%s)", s.Name, s.Kind) }
