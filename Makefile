# make demo and make test do all the set-up themselves: scripts/setup.sh.
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
TIMEOUT ?= 40m

# The whole browser, for the second round of tests: the first uses the headless
# shell, which is preferred where both are installed.
FULL = $(firstword $(foreach f,chromium chromium-browser google-chrome-stable google-chrome,$(shell command -v $(f) 2>/dev/null)))

.PHONY: demo setup test test-product test-modules check-scripts test-full test-image bench chart bench-go soak crowd tasks build image lint vuln notices pin-images clean

demo: # a transcript of an agent's visit to a small app
	@scripts/setup.sh demo
	@$(GO) run ./cmd/browserd demo

setup: # a Chromium, where there is none
	@scripts/setup.sh demo

# with-daemon runs a command with BROWSERD_BIN, a daemon built once with the race
# detector for all packages that start one. Chromium's user may have to run it, so
# it does not lie in the checkout.
with-daemon = dir=$$(mktemp -d "$${TMPDIR:-/tmp}/browserd-test-XXXXXX") && trap 'rm -rf "$$dir"' EXIT && trap 'exit 1' INT TERM && chmod 755 "$$dir" && \
	$(GO) build -race -ldflags "-s -w" -o "$$dir/browserd" ./cmd/browserd && export BROWSERD_BIN="$$dir/browserd" && $(1)

# Two packages at a time, three tests of a package, and the soak beside them: much of
# their time they wait. The two packages that take longest begin first.
test: # everything, with the race detector; what differs in the whole browser: make test-full
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory check-scripts
	@$(call with-daemon,$(MAKE) --no-print-directory -j 2 test-product test-modules)

test-product:
	$(GO) test -race -p 2 -parallel 3 -timeout $(TIMEOUT) ./e2e ./browser ./...

test-modules: # the benchmarks, the soak among them, and the tools
	cd bench && $(GO) test -race -count=1 -p 1 -timeout $(TIMEOUT) ./...
	cd tools && $(GO) test -race -p 1 -timeout $(TIMEOUT) ./...

# The types of the scripts that run in pages, by tsc. Where there is no npm it is left
# out, but not in CI.
check-scripts:
	@if command -v npm >/dev/null; then set -ex; cd browser/script; npm ci --silent --no-audit --no-fund; node_modules/.bin/tsc -p .; \
	elif [ -n "$$CI" ]; then echo "check-scripts needs npm"; exit 1; else echo "no npm: the types of the scripts are not checked"; fi

# What the builds of Chromium do each in their own way: windows, dialogs, files,
# input, permissions, and how their processes live and die. Of these the tests of
# the daemon from outside are played in the whole browser too. What leaves Chromium
# is tried in both builds by ./browser. BehaviourCases are among them for the input that
# each build makes of a click or a key; TodoMVC, the same input on more pages, is not.
BUILDS = Alert|AnnotatedScreenshot|ARef|BehaviourCases|ChromiumThat|Console|Cookies|Covered|Crashed|Dialog|Disabled|Download|Emulate|EveryCommandAnswers|Fill|FocusOn|KeysTell|Killed|LivingNode|Memory|Mouse|MovesToChromium|Network$$|NoFileMayGrow|PagesThatBehave|Permissions|Platform|Popovers|Popups|RefsAcross|Renamed|Route|SessionsShare|SIGHUP|SIGTERMInTheMiddleOfAClick|StaleRef|TestStoppedChromium|SuccessMeans|TypeSays|Upload|Widget

# The pages that try to have keys, presses, drops and files for themselves: make test tries
# them in the headless shell, make test-full in the whole browser.
HOSTILE = GoesToItsFieldOnly|GoesToItsElementOnly|GoToTheirInputOnly|ReachesItsElementOnly|OtherCommandsPressNoFrame

test-full: # the daemon from outside again, and hostile pages, in the whole browser; .ci/run does both
ifneq ($(wildcard e2e/*_test.go),)
	$(if $(FULL),,$(error no chromium and no google-chrome on PATH))
	@$(call with-daemon,set -x && BROWSERD_BROWSER__PATH=$(FULL) $(GO) test -race -count=1 -parallel 3 -timeout $(TIMEOUT) -run '$(BUILDS)' ./e2e/... && \
		BROWSERD_BROWSER__PATH=$(FULL) $(GO) test -race -count=1 -timeout $(TIMEOUT) -run '$(HOSTILE)' ./browser)
endif

# As root on Debian, with a Docker engine of its own; about a minute and a half.
test-image: # builds the image and runs an agent's loop in it
	scripts/with-docker.sh $(GO) test -count=1 -v -timeout $(TIMEOUT) ./e2e -run 'TestImage$$'

# BENCH='-quick -only snapshot,click' for less; peers are installed with npm.
bench: # browserd and its peers side by side, as Markdown, in ten minutes and more
	@scripts/setup.sh demo
	@cd bench && $(GO) run ./side $(BENCH)

chart: # docs/peers.svg from the newest run in bench/results, docs/session.svg from docs/transcript.md
	cd bench && $(GO) run ./chart

bench-go: # the Go benchmarks
	@scripts/setup.sh demo
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd bench && $(GO) test -run '^$$' -bench . -benchmem .

# An hour, and about five minutes; each prints what it measured, and fails where
# something grew, was answered as it may not be, or was left behind.
soak: build
	@scripts/setup.sh demo
	cd bench && BROWSERD_BIN=$(CURDIR)/bin/browserd $(GO) run ./soak -duration $(or $(DURATION),1h)

crowd: build # a hundred sessions, and what one bad page does to others
	@scripts/setup.sh demo
	cd bench && BROWSERD_BIN=$(CURDIR)/bin/browserd $(GO) run ./crowd

# TOOLS names the players' tools, MINIWOB a copy of the tasks; without one they are
# cloned into the cache directory. With all tools: TOOLS=browserd,agent-browser,playwright-mcp,chrome-devtools-mcp,pinchtab
tasks: # MiniWoB++, played by scripted players through refs
	@scripts/setup.sh demo
	cd bench && $(GO) run ./tasks -tools '$(or $(TOOLS),browserd)' -seeds $(or $(SEEDS),20) $(if $(MINIWOB),-miniwob '$(abspath $(MINIWOB))') $(if $(JSON),-json '$(abspath $(JSON))')

build: # bin/browserd
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/browserd ./cmd/browserd

image: # the image browserd
	docker build -f docker/Dockerfile -t browserd --build-arg VERSION=$(VERSION) .

# The modules of the repository; each has a go.mod of its own.
MODULES = . bench tools

# go mod tidy needs no network once the modules are in the module cache.
lint: # gofmt, go vet, and whether each go.mod names what its module needs and no more
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt -w these"; exit 1; }
	@set -e; for m in $(MODULES); do (set -x; cd $$m && $(GO) vet ./... && $(GO) mod tidy -diff); done

# The database is https://vuln.go.dev; VULNDB=file:///DIR is a copy of it.
vuln: # whether known vulnerabilities of modules or of Go are in code that browserd calls
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && (cd tools && $(GO) build -o "$$dir/govulncheck" golang.org/x/vuln/cmd/govulncheck) && \
	"$$dir/govulncheck" $(if $(VULNDB),-db '$(VULNDB)') ./cmd/browserd

notices: # THIRD_PARTY_NOTICES: the licences of what is linked
	cd tools && $(GO) run ./notices

pin-images: # the digests of the base images, in docker/Dockerfile; asks their registry
	cd tools && $(GO) run ./pin

clean:
	rm -rf bin
