# make demo and make test do all the set-up themselves: scripts/setup.sh.
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
TIMEOUT ?= 45m

# Full Chromium, for the second round of tests: the first uses the headless
# shell, which is preferred where both are installed.
FULL = $(firstword $(foreach f,chromium chromium-browser google-chrome-stable google-chrome,$(shell command -v $(f) 2>/dev/null)))

.PHONY: demo setup test test-outside test-browser test-packages test-modules chart-schemas check-scripts test-change test-full test-long test-some-fleet test-fleet test-whole test-nodes test-image test-compose bench chart bench-go soak crowd fleet-faults fleet-crowd kube step build image lint vuln notices test-release pin-images clean

demo: # a transcript of an agent's visit to a small app
	@scripts/setup.sh demo
	@$(GO) run ./cmd/browserd demo

setup: # a Chromium, where there is none
	@scripts/setup.sh demo

# The race detector, but not within the engine of scripts (QuickJS, translated from C): each
# script has a process of its own, in which one goroutine runs it, ten times as slowly with it.
RACE = -race -gcflags=modernc.org/libquickjs=-race=false

# with-daemon runs a command with BROWSERD_BIN, a daemon built once with the race
# detector for all packages that start one, and BROWSERD_PLAIN_BIN, one without for tests of
# memory and of PDFs. Chromium's user may have to run them, so they do not lie in the checkout.
with-daemon = dir=$$(mktemp -d "$${TMPDIR:-/tmp}/browserd-test-XXXXXX") && trap 'rm -rf "$$dir"' EXIT && trap 'exit 1' INT TERM && chmod 755 "$$dir" && \
	$(GO) build $(RACE) -ldflags "-s -w" -o "$$dir/browserd" ./cmd/browserd && export BROWSERD_BIN="$$dir/browserd" && \
	$(GO) build -ldflags "-s -w" -o "$$dir/plain" ./cmd/browserd && export BROWSERD_PLAIN_BIN="$$dir/plain" && $(1)

# Without the checkout's path in what it compiles, Go finds in its cache what another checkout has
# built: CI's fresh clone, and the tests that build copies of the program.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# The race detector makes each program wait a second at its end for other threads' reports,
# and the tests start some thousand programs.
export GORACE = atexit_sleep_ms=20

# Three streams side by side, two tests of each at a time; with more, tests miss their limits on two processors.
# lint has vetted all. -k: what fails in one stream leaves nothing else out.
test: # one daemon, with the race detector; fleets are in test-change, what takes long in test-full
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory check-scripts
	@$(call with-daemon,$(MAKE) --no-print-directory -k -j 3 test-outside test-browser test-packages)

# Tests that check one property against very many pages, attacks or requests. Each takes a quarter of a
# minute of the processor and more.
LONG = TestANewCommandIsOneFileAndOneRow|TestANodeWithManySessionsIsDrained|TestAPressReachesItsElementOnly|TestARollingUpdate|TestAnswersNameTheReceiver|TestAttachBesideManyTabs|TestEveryCommandReachesItsElementOnly|TestFleetFaults|TestFloodOfQueuedRequests|TestFloodTable|TestFloodsOfScripts|TestHostileJSON|TestHugeDocuments|TestMCPInspector|TestMassSubscriptions|TestNothingExceedsMaxChars|TestNothingLeaks|TestOnceSecret|TestOneCorpus|TestPagesWithoutEnd|TestPlantedFleetFaults|TestPlatform|TestPlaywrightScripts|TestPrivateCertificates|TestReadmeBlocks|TestRecordedChromium|TestSSRFCases|TestSecretFields|TestShortcutsChangeNothing|TestStaticFormsSendWhatChromiumSends|TestTenViewersCostLittleMoreThanOne|TestTheLibraryShowsWhatASessionShows|TestTypedTextGoesToItsFieldOnly|TestUnseenText|TestWalksOfAChangingPage|TestWidgetCorpus

# Others that take ten seconds and more; test-fleet plays these too.
SLOW = TestABombDoesNotGrowTheDaemon|TestACommandEndsWithItsTab|TestACommandThatWaitsInVainShowsNoSecret|TestADamagedSQLiteLedgerBeforeTheStart|TestADragNamesWhatReceivedItsEnd|TestADropReachesItsElementOnly|TestAGivenSecretIsDrawnAsDots|TestAGivenSecretIsNotRestored|TestAKeptState|TestAKeptStateSurvivesAKilledDaemon|TestAKeyGoesToItsElementOnly|TestAKeyIsPressedWhereItWasAllowed|TestALargeProfileIsExportedAndImported|TestALongScriptIsShownWithItsStep|TestAPersonDrives|TestAPersonLogsIn|TestAPictureOfASecretIsOfDots|TestAPoisonedPageReadsAndActsTheSame|TestAPressThatLeavesAFramesDocument|TestAProfileGoesByPieces|TestAProfileIsExportedAndImported|TestAProfileKeepsWhereJavaScriptRan|TestARedrawnElementKeepsItsRef|TestAScriptEndsAtOnce|TestAScriptThatMayNotComputeYetEndsAtOnce|TestASecretIsNotTypedBesideABusyPage|TestASecretStaysHeld|TestASnapshotLooksAtNoMoreThanItShows|TestASnapshotOfManyFrames|TestAStateHasSessionStorage|TestAStateKeepsWhereJavaScriptRan|TestATabDiesWhileAnotherIsReplaced|TestActionLog|TestAdapters|TestAnAnswerThatNobodyReads|TestAppliedDeltasMatchAChangingPage|TestAppliedDeltasMatchAFoldedPage|TestAppliedDeltasMatchTheGeneratedPages|TestAttachedBrowserStartsAgain|TestAttachedSessionsActAndAreBound|TestAttacksOfScripts|TestBehaviourCases|TestBrowserUIHoldsNothing|TestCarded|TestClickJumping|TestClientsThatVanish|TestCodeBoxes|TestCreditsOfOneDaemonOnSQLite|TestCreditsOfTwoDaemonsOnPostgres|TestDNSIsGoneAndBack|TestDeltasBetweenOtherCommands|TestEgressProxyAsksForTheSecret|TestEveryClientKnowsItsDaemon|TestEveryCommandAnswersInTime|TestEveryTransportAnswersTheSame|TestFilesGoToTheirInputOnly|TestFilesThatAPersonGivesAreLimited|TestFirstHour|TestFloodOfMCPSessions|TestFoldedRuns|TestFullDiskWhileAPageIsOpen|TestGrantedTabs|TestHandoffByElicitation|TestHeadersAreForTheOriginsOwnDocuments|TestHeadersStayInEveryCorner|TestHeadersStayWithTheirOrigin|TestHide|TestHostilePageTools|TestHostileStates|TestInputWaitsForNoPage|TestJavaScriptBeforeTheFirstSecret|TestLargeMessagesAreTruncated|TestListenersThatAreCollectedCostNoPage|TestListenersWhoseTellingWasGivenUp|TestLogin|TestLoginIsGoverned|TestMCPConversations|TestMCPWholeTask|TestMoreIsTrue|TestMovesAreMerged|TestNameCases|TestNoBeginningOfASecretBeforeACut|TestNoDescriptorsLeft|TestNoPictureOfASecretInAnAgentsView|TestNoPictureOfASecretWhereverItIsShown|TestNoWayToASecret|TestNothingGrowsForEver|TestNothingInTheSnapshotIsForged|TestNothingIsFronted|TestOpenThroughTheProxy|TestPDF|TestPDFOfAPageThatDies|TestPageTextIsEscapedEverywhere|TestPagesThatBehaveBadly|TestPasskeys|TestPasskeysConfirmed|TestPicturesHaveLimits|TestProfile|TestProfileRefused|TestProgressAtATerminal|TestPythonClientIsTyped|TestReadOfALongPage|TestReadsBesideAWait|TestRebindingBesideAllowHosts|TestRecordingsInTheView|TestRefsOfRows|TestRemoteThroughTheAdvertisedProxy|TestRunIsGoverned|TestRunSavedKnowsItsPage|TestRunSavedOverEveryTransport|TestRunSavedStopsOnAnotherPage|TestRunSavedWaitsForTimers|TestSavedScriptsHaveNoSecrets|TestScriptsAreThrottled|TestScriptsOfTheDocs|TestSealAndOpen|TestSecrets|TestSeenText|TestSessionsAreApart|TestSlowReader|TestStateLogsIn|TestStoppedForAWhile|TestStoppedRenderer|TestTenViewersCostOne|TestTheContextKeepsItsSecret|TestTheTranscriptIsAlwaysTheSame|TestTodoMVC|TestTraceOpensInPlaywright|TestTraces|TestTypeIntoAClosedShadowTree|TestTypeScriptClientIsTyped|TestTypeScriptLoop|TestUnseenNames|TestVideoPlaysInChromium|TestViewOfAttachedSessions|TestViewPictures|TestWalkManySiblings|TestWalkNames|TestWalkResumes|TestWalkStopsAtTheBudget|TestWatchIsATableAtATerminal|TestWatchOneSession|TestWhatANamedSessionsCallDoes|TestWhatAPictureShowsIsRead|TestWhatARouteAnswersIsCodeInABatchAndAScript|TestWhatAnOperatorOpensIsOpenToWhoAskedAlone|TestWhatIsNotWaitedFor|TestWhileAPersonGivesAFile

# Packages that start no goroutine and share nothing: here the race detector has nothing to find
# and takes seven times as long. Whatever calls them from several goroutines is tested with it.
SEQUENTIAL = internal/layout|snapshot/html|web/readable

# The tests of the daemon from outside that start several nodes.
NODES = $(shell grep -oh '^func Test[A-Za-z0-9]*' e2e/fleet*_test.go | cut -c6- | paste -s -d '|')

# What test-whole plays in full Chromium it plays with the race detector: here it is played without.
test-outside:
	BROWSERD_BIN="$$BROWSERD_PLAIN_BIN" $(GO) test -vet=off -parallel 2 -timeout $(TIMEOUT) -run '$(BUILDS)' -skip '^($(LONG)|$(SLOW)|$(NODES))$$' ./e2e
	$(GO) test -vet=off $(RACE) -parallel 2 -timeout $(TIMEOUT) -skip '^($(LONG)|$(SLOW)|$(NODES))$$|$(BUILDS)' ./e2e

test-browser:
	$(GO) test -vet=off $(RACE) -p 1 -parallel 2 -timeout $(TIMEOUT) -skip '^($(LONG)|$(SLOW))$$' ./browser ./fallback

test-packages:
	$(GO) test -vet=off $(RACE) -p 1 -parallel 2 -timeout $(TIMEOUT) -skip '^($(LONG)|$(SLOW))$$' $$($(GO) list ./... | grep -vE '/(e2e|fleet|browser|fallback|$(SEQUENTIAL))$$')
	$(GO) test -vet=off -p 1 -timeout $(TIMEOUT) $$($(GO) list ./... | grep -E '/($(SEQUENTIAL))$$')

test-modules: chart-schemas # the benchmarks, the soak among them, and the tools
	cd bench && $(GO) test -vet=off $(RACE) -count=1 -p 1 -timeout $(TIMEOUT) ./...
	cd tools && $(GO) test -vet=off -race -p 1 -timeout $(TIMEOUT) $$($(GO) list ./... | grep -v /chart$$)
	cd tools && $(GO) test -vet=off -timeout $(TIMEOUT) ./chart

# What deploy/helm is validated against: Kubernetes' OpenAPI document and the resources of KEDA and
# of the Prometheus operator, in their own modules; 40 MB the first time. tools/chart has the versions.
chart-schemas:
	@$(GO) mod download $$(sed -n 's/.*Module *= "\(.*@v[0-9.]*\)".*/\1/p' tools/chart/schemas_test.go) k8s.io/kubernetes@$$(sed -n 's/^const kubernetesVersion = "\(.*\)"/\1/p' tools/chart/render.go)

# The types of the scripts that run in pages, by tsc. Where there is no npm it is left
# out, but not in CI.
check-scripts:
	@if command -v npm >/dev/null; then set -ex; cd browser/script; npm ci --silent --no-audit --no-fund; node_modules/.bin/tsc -p .; \
	elif [ -n "$$CI" ]; then echo "check-scripts needs npm"; exit 1; else echo "no npm: the types of the scripts are not checked"; fi

# Where headless shell and full Chromium differ: windows, dialogs, files,
# input, permissions, and how their processes live and die. Of these the tests of
# the daemon from outside are played in full Chromium too. What leaves Chromium
# is tried in both builds by ./browser. BehaviourCases are among them for the input that
# each build makes of a click or a key; TodoMVC, the same input on more pages, is not.
BUILDS = Alert|AnnotatedScreenshot|ARef|BehaviourCases|BrowserUI|ChromiumThat|Console|Cookies|Covered|Crashed|Dialog|Disabled|Download|Emulate|EveryCommandAnswers|Fill|FocusOn|HeadersAreFor|HeadersStay|KeyIsPressed|KeysTell|Killed|LivingNode|Memory|Mouse|MovesToChromium|Network$$|NoFileMayGrow|OtherPrograms|PageTool|PagesThatBehave|ReachesItsElementOnly|Permissions|Platform|Popovers|Popups|RefsAcross|Renamed|Route|SessionsShare|SIGHUP|SIGTERMInTheMiddleOfAClick|StaleRef|TestStoppedChromium|SuccessMeans|TypeSays|Upload|Widget

# Pages that try to steal keys, presses, drops and files.
HOSTILE = NameTheReceiver|LeavesAFramesDocument|AReleaseIsNoPress|NamesWhatReceivedItsEnd|GoesToItsFieldOnly|GoesToItsElementOnly|GoToTheirInputOnly|ReachesItsElementOnly

# Two streams: floods and pages without an end miss their limits beside three. Nodes wait most of the time, for leases
# of those that are lost.
test-change: # with make test, what CI plays for each change: fleets, the other build of Chromium, bench and tools
	$(if $(FULL),,$(error no chromium and no google-chrome on PATH))
	@$(call with-daemon,$(MAKE) --no-print-directory -k -j 2 test-nodes test-whole test-modules)

test-full: # what test-change plays, and what takes long: CI plays it each night
	$(if $(FULL),,$(error no chromium and no google-chrome on PATH))
	@$(call with-daemon,$(MAKE) --no-print-directory -k -j 2 test-long test-nodes test-whole test-modules)

# Where three daemons serve as one, behind HAProxy and on one PostgreSQL, a client sees what it sees with
# one: the tests that say most of it. test-fleet plays all of ./e2e that way, but for what is about one process.
FLEET = TestAnyFirstCommandOpensItsSession|TestAutonomyHoldsOverEveryTransport|TestConfirmedWhereItWasAsked|TestCookies|TestDownloads|TestEventsAreAsTheSchemaSays|TestEveryTransportAnswersTheSame|TestMCPCancelAndProgress|TestMCPHasEveryCommand|TestReadsBesideAWait|TestSessionEnded|TestTheTrailOfASession|TestTraceOpensInPlaywright|TestTwiceEachLimit|TestUploadPaths

test-some-fleet:
	BROWSERD_E2E_FLEET=3 $(GO) test -vet=off $(RACE) -count=1 -parallel 3 -timeout $(TIMEOUT) -run '^($(FLEET))$$' ./e2e

test-fleet: # all of ./e2e that is not about one process, against three daemons that serve as one
	@$(call with-daemon,BROWSERD_E2E_FLEET=3 $(GO) test -vet=off $(RACE) -count=1 -parallel 2 -timeout $(TIMEOUT) -skip '^($(LONG))$$' ./e2e)

# Of what takes long, what is played in both builds: with the race detector in full Chromium, without it in the
# headless shell.
TWICE = $(shell echo '$(LONG)|$(SLOW)' | tr '|' '\n' | grep -E '$(BUILDS)|$(HOSTILE)' | sort -u | paste -s -d '|')

test-long:
	$(GO) test -vet=off $(RACE) -count=1 -p 1 -parallel 2 -timeout $(TIMEOUT) -run '^($(LONG)|$(SLOW))$$' -skip '^($(TWICE))$$' ./e2e ./browser ./browser/cdp ./browser/person ./fallback ./actions/script ./secret ./server ./session/...
	BROWSERD_BROWSER__PATH=$(FULL) $(GO) test -vet=off $(RACE) -count=1 -p 1 -parallel 2 -timeout $(TIMEOUT) -run '^($(TWICE))$$' ./e2e ./browser
	BROWSERD_BIN="$$BROWSERD_PLAIN_BIN" $(GO) test -vet=off -count=1 -p 1 -parallel 2 -timeout $(TIMEOUT) -run '^($(TWICE))$$' ./e2e ./browser ./fallback

test-whole:
	BROWSERD_BROWSER__PATH=$(FULL) $(GO) test -vet=off $(RACE) -count=1 -parallel 2 -timeout $(TIMEOUT) -run '$(BUILDS)' -skip '^($(LONG)|$(SLOW)|$(NODES))$$' ./e2e
	BROWSERD_BROWSER__PATH=$(FULL) $(GO) test -vet=off $(RACE) -count=1 -parallel 2 -timeout $(TIMEOUT) -run '$(HOSTILE)' -skip '^($(LONG)|$(SLOW))$$' ./browser

test-nodes:
	$(GO) test -vet=off $(RACE) -count=1 -parallel 3 -timeout $(TIMEOUT) -run '^($(NODES))$$' -skip '^($(LONG)|$(SLOW))$$' ./e2e
	$(GO) test -vet=off $(RACE) -parallel 3 -timeout $(TIMEOUT) ./fleet
	@$(MAKE) --no-print-directory test-some-fleet

# As root on Debian, with a Docker engine of its own; about a minute and a half.
test-image: # builds the image and runs an agent's loop in it
	scripts/with-docker.sh $(GO) test -count=1 -v -timeout $(TIMEOUT) ./e2e -run 'TestImage$$'

# Likewise; with Docker Compose built from its module, about ten minutes the first time.
test-compose: # starts deploy/compose/compose.yaml, and has nodes killed and stopped
	scripts/with-docker.sh $(GO) test -count=1 -v -timeout $(TIMEOUT) ./e2e -run 'TestCompose$$'

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

# An hour, and about eight minutes; each prints what it measured, and fails where
# something grew, was answered as it may not be, or was left behind.
soak: build
	@scripts/setup.sh demo
	cd bench && BROWSERD_BIN=$(CURDIR)/bin/browserd $(GO) run ./soak -duration $(or $(DURATION),1h)

crowd: build # a hundred sessions, and what one bad page does to others
	@scripts/setup.sh demo
	cd bench && BROWSERD_BIN=$(CURDIR)/bin/browserd $(GO) run ./crowd

# Two hundred faults of three nodes, their network and their database while 30 agents work, in about
# half an hour; then the same on programs with a fault planted, which has to be found.
fleet-faults:
	@scripts/setup.sh test
	BROWSERD_FLEET_SEED=$(or $(SEED),1) BROWSERD_FLEET_FAULTS=$(or $(FAULTS),200) BROWSERD_FLEET_AGENTS=$(or $(AGENTS),30) \
		$(GO) test -vet=off -count=1 -timeout 3h -v -run '^(TestFleetFaults|TestPlantedFleetFaults)$$' ./e2e

# Fleets of 1, 2, 5 and 10 nodes with 100 sessions each, in about 15 minutes; what a real Chromium was recorded to
# answer stands in for it. NODES=1,3 SESSIONS=20 PACE=4s for less.
fleet-crowd:
	@scripts/setup.sh test
	BROWSERD_CROWD_NODES=$(NODES) BROWSERD_CROWD_SESSIONS=$(SESSIONS) BROWSERD_CROWD_PACE=$(PACE) \
		$(GO) test -vet=off -timeout 1h -run '^$$' -bench '^BenchmarkFleetCrowd$$' -benchtime 1x ./e2e

# deploy/helm, installed by helm on a control plane of this machine's own: etcd, kube-apiserver, -controller-manager
# and -scheduler, with nodes of kwok's. Built from source, which takes half an hour and some GB the first time. kwok
# and helm are in no go.mod of this repository. tools/cluster is not among lint's MODULES, for which CI
# would fetch all that these are made of: it is vetted here.
KUBE_VERSION = $(shell sed -n 's/^const kubernetesVersion = "\(.*\)"/\1/p' tools/chart/render.go)
KWOK_VERSION = v0.8.0
kube: chart-schemas
	cd tools/cluster && $(GO) vet ./... && $(GO) mod tidy -diff
	cd tools/cluster && $(GO) build -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBE_VERSION)' -o '$(CURDIR)/bin/kube/' \
		$(addprefix k8s.io/kubernetes/cmd/kube-,apiserver controller-manager scheduler)
	cd tools/cluster && $(GO) build -ldflags '-s -w' -o '$(CURDIR)/bin/kube/etcd' go.etcd.io/etcd/server/v3
	GOBIN='$(CURDIR)/bin/kube' $(GO) install -ldflags '-s -w' sigs.k8s.io/kwok/cmd/kwok@$(KWOK_VERSION)
	for f in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready pod/fast/pod-delete; do \
		echo ---; cat "$$($(GO) env GOMODCACHE)/sigs.k8s.io/kwok@$(KWOK_VERSION)/kustomize/stage/$$f.yaml" || exit 1; done >bin/kube/stages.yaml
	GOBIN='$(CURDIR)/bin/kube' $(GO) install -ldflags '-s -w' helm.sh/helm/v4/cmd/helm@$$(cd tools && $(GO) list -m -f '{{.Version}}' helm.sh/helm/v4)
	cd tools/cluster && KUBE=1 KUBE_BIN='$(CURDIR)/bin/kube' $(GO) test -vet=off -count=1 -v -timeout 1h .

# TOOLS names the players' tools, MINIWOB a copy of the tasks; without one they are
# cloned into the cache directory. With all tools: TOOLS=browserd,agent-browser,playwright-mcp,chrome-devtools-mcp,pinchtab
step: # what an agent's tasks take with browserd, and with TOOLS: MiniWoB++ and TodoMVC
	@scripts/setup.sh demo
	cd bench && $(GO) run ./step -tools '$(or $(TOOLS),browserd (MCP))' -seeds $(or $(SEEDS),20) $(if $(MINIWOB),-miniwob '$(abspath $(MINIWOB))') $(if $(JSON),-json '$(abspath $(JSON))')

build: # bin/browserd
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/browserd ./cmd/browserd

image: # the image browserd
	docker build -f docker/Dockerfile -t browserd --build-arg VERSION=$(VERSION) .

# The modules of the repository; each has a go.mod of its own.
MODULES = . bench examples/genkit tools

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

# Some minutes the first time: cosign is built by Go, and is in no go.mod of this repository.
test-release: # signs by key and verifies, with cosign itself
	GOBIN='$(CURDIR)/bin/release-tools' CGO_ENABLED=0 $(GO) install github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3
	cd tools && RELEASE_TOOLS='$(CURDIR)/bin/release-tools' $(GO) test -count=1 -v ./release -run Signature

pin-images: # the digests of the base images, in docker/Dockerfile; asks their registry
	cd tools && $(GO) run ./pin

clean:
	rm -rf bin
