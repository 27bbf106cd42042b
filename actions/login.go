package actions

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/actions/loginform"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/snapshot"
)

// Login is the command login.
var Login = command.Define(command.Row{
	Name: "login", Summary: "Logs in with your secrets: fills in and sends the page's login form, or plays a script, and says by what the page shows whether it worked.", Main: "name",
	Flags: command.Acts | command.Group | command.NotInBatch | command.BeginsSession | command.MCPTimeout,
	StoredTarget: func(params any) string {
		if p := params.(*LoginParams); p.plays() {
			return "login " + p.Name
		}
		return ""
	},
	Examples: []command.Example{
		{For: "Logs in where the page shows a login form, with your secrets for its origin", Params: `{}`},
		{For: `Logs in at an address, and keeps how as "shop" if it works`, Params: `{"name": "shop", "url": "https://shop.example/", "username": "ann@shop.example"}`},
	},
}, login)

// LoginParams are the parameters of login.
type LoginParams struct {
	Name     string `json:"name" doc:"alone: the recipe that is played. With others: the name under which they are kept if it works: small letters, digits, '.', '_' and '-'"`
	URL      string `json:"url" doc:"the address of the form; left out: the page that is open"`
	Username string `json:"username" doc:"what is written as the name, may be {{secret:NAME}}; left out: your secret of kind username for the form's origin"`
	Password string `json:"password" doc:"the name of a secret, not a password; left out: your secret of kind text for that origin"`
	Code     string `json:"code" doc:"the name of a secret that makes one-time codes; left out: your secret of kind totp for that origin"`
	Script   string `json:"script" doc:"in place of finding fields: the name of a script that run saved, which logs in"`
	command.Shows
}

// plays reports whether a recipe is played that was kept.
func (p *LoginParams) plays() bool {
	return p.Name != "" && p.URL+p.Username+p.Password+p.Code+p.Script == ""
}

// What login comes to.
const (
	loggedIn     = "logged_in"     // the page shows the form no more
	rejected     = "rejected"      // it says that something is wrong
	unchanged    = "unchanged"     // it shows the form still, and no error
	secondFactor = "second_factor" // it asks for one that there is no secret for
	captchaAsked = "captcha"       // it shows a captcha
	noForm       = "no_form"       // it shows no login form
)

// LoginResult is the answer of login.
type LoginResult struct {
	command.Result
	// Outcome is logged_in, rejected, unchanged, second_factor, captcha or no_form.
	Outcome string `json:"outcome"`
	// Message is the line of the page that says why.
	Message string `json:"message,omitempty"`
	// Filled are the fields that were filled in, in their order: username, password, code.
	Filled []string `json:"filled"`
	// Saved is the name under which the recipe was kept.
	Saved string `json:"saved,omitempty"`
}

// person is the next step where only a person can go on.
const person = "a person has to do that: send handoff, then login again, or go on where the page shows that you are logged in"

func login(ctx context.Context, c *command.Call, p *LoginParams) (LoginResult, error) {
	recipes, agent := c.Runtime.Logins, c.Caller.Agent
	how := loginform.Recipe{Version: loginform.RecipeVersion, URL: p.URL, Username: p.Username, Password: p.Password, Code: p.Code, Script: p.Script}
	keep := p.Name != "" && !p.plays()
	if p.Name != "" {
		if err := recipes.Check(p.Name); err != nil {
			return LoginResult{}, err
		}
	}
	if p.plays() {
		var err error
		if how, err = recipes.Load(agent, p.Name); err != nil {
			return LoginResult{}, err
		}
	}
	l := &loggingIn{Call: c, how: how, r: LoginResult{Filled: []string{}}}
	err := l.play(ctx)
	if err != nil {
		return LoginResult{}, c.Session.DescribeLoss(err)
	}
	if l.r.Result, err = c.Acted(ctx, c.Session.Page(), l.effect, nil, p.Shows); err != nil {
		return LoginResult{}, err
	}
	l.r.Note = nextAfter(l.r.Outcome)
	if keep && l.r.Outcome == loggedIn {
		if l.how.URL == "" && l.how.Script == "" {
			l.how.URL = l.began
		}
		if err := recipes.Save(agent, p.Name, l.how); err != nil {
			l.r.Note = "you are logged in, and the recipe was not kept: " + err.Error()
			return l.r, nil
		}
		l.r.Saved = p.Name
	}
	return l.r, nil
}

// nextAfter is what to do after an outcome; empty: go on.
func nextAfter(outcome string) string {
	switch outcome {
	case rejected:
		return "not logged in: message says why; do not try again with the same secrets, since sites lock accounts: ask the operator"
	case unchanged:
		return "the page still shows the form and no error: take a snapshot to see what it waits for"
	case secondFactor:
		return "not logged in yet: the page asks for a second factor for which you have no secret; " + person
	case captchaAsked:
		return "not logged in yet: the page shows a captcha; " + person
	case noForm:
		return "the page shows no login form: open it first, or pass url; a form that login does not find is for a script: run with save, then login with script"
	}
	return ""
}

// loggingIn is one login under way.
type loggingIn struct {
	*command.Call
	how    loginform.Recipe
	began  string // the address of the form
	effect protocol.Effect
	r      LoginResult
	framed bool            // the form is in a frame
	sent   *loginform.Form // what was sent last; nil: nothing
	before string          // the page's text before it was
	done   []string        // fields that need nothing more: username, password, code
	empty  bool            // the code stays empty, this time
	ready  bool            // there is something to send
}

// play plays the recipe, and sets Outcome and Message.
func (l *loggingIn) play(ctx context.Context) error {
	if l.how.URL != "" {
		if err := l.inner(ctx, Open, OpenParams{URL: l.how.URL, WaitUntil: "auto", Source: "auto", Snapshot: "none"}); err != nil {
			return err
		}
	}
	page, err := l.Live(ctx)
	if err != nil {
		return err
	}
	l.began, _, _ = strings.Cut(page.State().URL, "#")
	if l.how.Script != "" {
		if l.before, err = l.text(ctx); err == nil {
			err = l.inner(ctx, Run, map[string]any{"name": l.how.Script, "snapshot": "none"})
		}
		if err != nil {
			return err
		}
		l.done, l.sent = []string{"username", "password", "code"}, &loginform.Form{}
	}
	for range 12 { // three fields, each sent alone, with a page in between
		read := l.look
		if l.sent != nil && !l.ready {
			read = l.answered
		}
		form, err := read(ctx)
		if err != nil || l.r.Outcome != "" {
			return err
		}
		switch kind, at := l.next(form); {
		case kind != "":
			err = l.fill(ctx, kind, at)
		case !l.ready:
			return l.ends(ctx, form)
		case form.Captcha:
			l.r.Outcome = captchaAsked
		default:
			err = l.send(ctx, form)
		}
		if err != nil || l.r.Outcome != "" {
			return err
		}
	}
	l.r.Outcome = unchanged
	return nil
}

// look reads the form of the page; where that has none, that of the first frame which has one.
func (l *loggingIn) look(ctx context.Context) (*loginform.Form, error) {
	form, err := l.read(ctx, map[string]any{"css": loginform.Selector})
	if err != nil || form.Any() || l.sent != nil && !l.framed {
		return form, err
	}
	for i := range min(form.Frames, maxLoginFrames) {
		within, err := l.read(ctx, map[string]any{"css": "iframe"}, map[string]any{"visible": true}, map[string]any{"nth": i}, map[string]any{"frame": true}, map[string]any{"css": loginform.Selector})
		if err != nil {
			return nil, err
		}
		if within.Any() {
			within.Captcha, l.framed = within.Captcha || form.Captcha, true
			return within, nil
		}
	}
	return form, nil
}

// maxLoginFrames is in how many frames a form is looked for.
const maxLoginFrames = 6

// read reads the form among the elements that a chain finds.
func (l *loggingIn) read(ctx context.Context, chain ...map[string]any) (*loginform.Form, error) {
	steps, err := json.Marshal(chain)
	if err != nil {
		return nil, err
	}
	page, err := l.Page(ctx)
	if err != nil {
		return nil, err
	}
	var got protocol.Chained
	nodes, err := page.Find(ctx, l.Session.Refs(), protocol.Query{Chain: steps, Read: loginform.Properties, Limit: 500, Got: &got})
	if err != nil {
		return nil, err
	}
	return loginform.Read(snapshot.Show(nodes, snapshot.DefaultOptions(), l.Session.Refs()).Nodes, got.Read), nil
}

// text returns what the page says.
func (l *loggingIn) text(ctx context.Context) (string, error) {
	page, err := l.Page(ctx)
	if err != nil {
		return "", err
	}
	return page.Read(ctx, l.Session.Refs(), "", "text", "")
}

// How long a page may take to answer a form: until it is quiet, and some time after that.
const (
	loginQuiet    = 10 * time.Second
	loginPatience = 3 * time.Second
)

// answered waits until the page has answered what was sent. It returns a form that has more to
// fill in, or sets Outcome.
func (l *loggingIn) answered(ctx context.Context) (*loginform.Form, error) {
	if err := l.quiet(ctx); err != nil {
		return nil, err
	}
	for until := time.Now().Add(loginPatience); ; {
		now, err := l.look(ctx)
		if err != nil {
			return nil, err
		}
		kind, _ := l.next(now)
		switch {
		case kind != "" && !now.Same(l.sent):
			return now, nil
		case now.Captcha:
			l.r.Outcome = captchaAsked
			return nil, nil
		case now.Password == nil && now.Code == nil && (now.Username == nil || slices.Contains(l.done, "password")):
			return nil, l.ends(ctx, now) // a newsletter may ask for an address
		}
		said, err := l.said(ctx, now)
		switch late := time.Now().After(until); {
		case err != nil:
			return nil, err
		case said != "":
			l.r.Outcome, l.r.Message = rejected, said
			return nil, nil
		case late:
			l.r.Outcome = unchanged
			if fresh := l.fresh(now); len(fresh) > 0 {
				l.r.Message = fresh[0]
			}
			return nil, nil
		}
		select {
		case <-time.After(150 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// quiet waits until the page does not change any more, for a while.
func (l *loggingIn) quiet(ctx context.Context) error {
	page, err := l.Page(ctx)
	if err != nil {
		return err
	}
	within, stop := context.WithTimeout(ctx, loginQuiet)
	defer stop()
	_, err = page.Wait(within, l.Session.Refs(), protocol.Wait{For: protocol.WaitQuiet}, nil, nil)
	if within.Err() != nil && ctx.Err() == nil {
		return nil // a page that never rests is looked at as it is
	}
	return err
}

// fresh returns the messages that were not there when the form was sent.
func (l *loggingIn) fresh(now *loginform.Form) []string {
	return slices.DeleteFunc(slices.Clone(now.Messages), func(m string) bool { return slices.Contains(l.sent.Messages, m) })
}

// said returns the error that the page shows since the form was sent; empty: none.
func (l *loggingIn) said(ctx context.Context, now *loginform.Form) (string, error) {
	if e := loginform.NewError(strings.Join(l.fresh(now), "\n"), ""); e != "" {
		return e, nil
	}
	text, err := l.text(ctx)
	return loginform.NewError(text, l.before), err
}

// ends sets the outcome of a page that shows no form.
func (l *loggingIn) ends(ctx context.Context, now *loginform.Form) error {
	text, err := l.text(ctx)
	if err != nil {
		return err
	}
	robot, factor, wrong := loginform.SaysRobot(text, l.before), loginform.SaysFactor(text, l.before), ""
	if l.sent != nil {
		wrong = loginform.NewError(strings.Join(l.fresh(now), "\n"), "")
		if now.Username != nil && wrong == "" {
			wrong = loginform.NewError(text, l.before)
		}
	}
	switch {
	case now.LogOut:
		l.r.Outcome = loggedIn
	case now.Captcha || robot != "":
		l.r.Outcome, l.r.Message = captchaAsked, robot
	case factor != "":
		l.r.Outcome, l.r.Message = secondFactor, factor
	case wrong != "":
		l.r.Outcome, l.r.Message = rejected, wrong
	case l.sent != nil:
		l.r.Outcome = loggedIn
	default:
		l.r.Outcome = noForm
	}
	return nil
}

// next returns the field to fill in next, and its kind; empty: none.
func (l *loggingIn) next(f *loginform.Form) (string, *loginform.Control) {
	for _, field := range []struct {
		kind string
		at   *loginform.Control
	}{{"username", f.Username}, {"password", f.Password}, {"code", f.Code}} {
		if field.at != nil && !slices.Contains(l.done, field.kind) && !(field.kind == "code" && l.empty) {
			return field.kind, field.at
		}
	}
	return "", nil
}

// fill writes what a field is for into it. A name that is there already stays.
func (l *loggingIn) fill(ctx context.Context, kind string, at *loginform.Control) error {
	text, err := l.textFor(ctx, kind, at)
	if err != nil || l.r.Outcome != "" {
		return err
	}
	if text == "" && kind == "code" {
		l.empty = true
		return nil
	}
	if l.done, l.ready = append(l.done, kind), true; text == "" {
		return nil
	}
	l.r.Filled = append(l.r.Filled, kind)
	return l.inner(ctx, Type, TypeParams{Ref: protocol.Target(at.Ref), Text: text, Clear: true, Mode: "insert", Shows: unshown})
}

var unshown = command.Shows{Snapshot: "none"}

// textFor returns what is written into a field, with secrets by their names; empty: nothing. A
// code for which there is no secret is an outcome.
func (l *loggingIn) textFor(ctx context.Context, kind string, at *loginform.Control) (string, error) {
	named, of := map[string]string{"username": l.how.Username, "password": l.how.Password, "code": l.how.Code}[kind], map[string]string{"username": secret.User, "password": secret.Text, "code": secret.TOTP}[kind]
	switch {
	case named != "" && kind == "username":
		return named, nil
	case named != "":
		return "{{secret:" + named + "}}", nil
	}
	page, err := l.Page(ctx)
	if err != nil {
		return "", err
	}
	origin, err := command.OriginAt(ctx, l.Call, page, protocol.Spot{Ref: at.Ref})
	if err != nil {
		return "", err
	}
	list, err := l.Runtime.Secrets.List(l.Caller.Agent)
	if err != nil {
		return "", err
	}
	var fit []string
	for _, s := range list {
		if s.Kind == of && slices.Contains(s.Origins, origin) {
			fit = append(fit, s.Name)
		}
	}
	switch {
	case len(fit) == 1:
		return "{{secret:" + fit[0] + "}}", nil
	case len(fit) > 1:
		return "", protocol.Errorf(protocol.InvalidParams, "%s: you have several secrets for it at %s: %s", kind, protocol.Cut(origin, 200), strings.Join(fit, ", ")).
			With("parameter", kind).Then("name one of them with %s", kind)
	case kind == "username" && at.Filled:
		return "", nil
	case kind == "username":
		return "", protocol.Errorf(protocol.InvalidParams, "username: the form of %s asks for a name, and you have no secret of kind username for it", protocol.Cut(origin, 200)).
			With("parameter", kind).Then("pass username, as the person wrote it for you, or ask the operator: browserd secret set NAME --username --origin ORIGIN")
	case kind == "code":
		if !l.ready { // beside a password it may stay empty
			l.r.Outcome = secondFactor
		}
		return "", nil
	}
	return "", protocol.Errorf(protocol.SecretDenied, "the form's document is of %s, for which you have no secret of kind text", protocol.Cut(origin, 200)).
		With("reason", "origin").With("origin", protocol.Cut(origin, 200)).
		Then("check that this is the site that you mean: a form in a frame belongs to the frame's site; secret_list names your secrets and their origins")
}

// send sends the form with its button, or with Enter.
func (l *loggingIn) send(ctx context.Context, form *loginform.Form) (err error) {
	l.sent, l.ready, l.empty = form, false, false
	if l.before, err = l.text(ctx); err != nil {
		return err
	}
	last := form.Username
	for _, c := range []*loginform.Control{form.Password, form.Code} {
		if c != nil {
			last = c
		}
	}
	if last == nil { // the page took the field away by itself
		return nil
	}
	if b := form.Submit(last); b != nil {
		return l.inner(ctx, Click, ClickParams{Ref: protocol.Target(b.Ref), Button: "left", Count: 1, Shows: unshown})
	}
	return l.inner(ctx, Press, PressParams{Key: "Enter", Ref: protocol.Target(last.Ref), Action: "press", Shows: unshown})
}

// inner runs another command of this call, and adds what it did to the effect.
func (l *loggingIn) inner(ctx context.Context, cmd *command.Command, params any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	result, err := l.Inner(ctx, cmd.Name, text)
	if shown, ok := result.(interface{ PageResult() command.Result }); ok && err == nil {
		if e := shown.PageResult().Effect; e != nil {
			l.effect.Merge(*e)
		}
	}
	return err
}
