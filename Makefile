# make demo and make test do all the set-up themselves: scripts/setup.sh.
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
TIMEOUT ?= 15m

# The whole browser, for the second round of tests: the first uses the headless
# shell, which is preferred where both are installed.
FULL = $(firstword $(foreach f,chromium chromium-browser google-chrome-stable google-chrome,$(shell command -v $(f) 2>/dev/null)))

.PHONY: demo test test-full bench build lint clean

demo: # a transcript of an agent's visit to a small app
	@scripts/setup.sh demo
	@$(GO) run ./cmd/browserd demo

# One package at a time: each has a Chromium of its own to wait for.
test: # everything, with the race detector, in both builds of Chromium
	@scripts/setup.sh test
	$(GO) vet ./...
	$(GO) test -race -p 1 -timeout $(TIMEOUT) ./...
	@$(MAKE) --no-print-directory test-full

# The daemon from outside again, in the whole browser.
test-full:
ifneq ($(wildcard e2e/*_test.go),)
	$(if $(FULL),,$(error no chromium and no google-chrome on PATH))
	BROWSERD_BROWSER__PATH=$(FULL) $(GO) test -race -count=1 -timeout $(TIMEOUT) ./e2e/...
endif

bench:
	@scripts/setup.sh demo
	$(GO) test -run '^$$' -bench . -benchmem ./...

build: # bin/browserd
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/browserd ./cmd/browserd

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt -w these"; exit 1; }
	$(GO) vet ./...

clean:
	rm -rf bin
