package e2e_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// threats names, for each threat that browserd is held to, the tests that show
// the expected behaviour: folder and test.
var threats = map[string][]string{
	// Who may drive.
	"ws-origin":     {"server.TestHostAndOrigin", "server.TestAdmissionOrder", "e2e.TestWhoMayConnect"},
	"ws-host":       {"server.TestHostAndOrigin", "server.TestRawHTTP", "e2e.TestWhoMayConnect"},
	"token-missing": {"server.TestToken", "server.TestFailures", "server.TestFailuresAnswered", "server.TestTenThousandGuesses", "e2e.TestWhoMayConnect"},
	"token-file":    {"config.TestToken", "config.TestTokenFileThatCannotServe", "config.TestNoFlagForSecrets", "e2e.TestTheTokenStaysWithTheDaemon"},
	"http-on-ws":    {"server.TestPagesCannotSpeakToTheDaemon", "server.TestRawHTTP"},
	"frame-big":     {"server.TestOversizedFrame", "server.TestRawFrames", "e2e.TestAnOversizedFrame"},
	"frame-garbage": {"server.TestRawFrames", "server.TestTranscripts", "server.TestHTTP", "server.FuzzFrame", "e2e.TestBadInput"},
	"slowloris":     {"server.TestSlowHeaders", "server.TestSlowReader", "server.TestPing", "server.TestConnectionLimit"},
	"cmd-flood":     {"server.TestFlood", "server.TestMaxPending", "server.TestSessionFlood", "session.TestTurnsAreLimited"},
	"cred-log":      {"e2e.TestSecretsStayOutOfLogsErrorsAndSnapshots", "e2e.TestSupervised", "server.TestInternal", "browser/chromium.TestEndpointErrorsKeepTokens", "actions/command.TestQuestionShowsNoSecret", "config.TestWithoutCredentials"},

	// What a page does to the browser.
	"huge-dom":       {"e2e.TestHugeDocuments", "browser.TestWalkStopsAtTheBudget", "browser.TestWalkDeep", "browser.TestWalkManySiblings", "e2e.TestASnapshotLooksAtNoMoreThanItShows"},
	"alert-loop":     {"e2e.TestEveryCommandAnswersInTime", "e2e.TestAnAlertIsAcceptedAtOnce", "e2e.TestADialogThatNobodyAnswers"},
	"beforeunload":   {"e2e.TestEveryCommandAnswersInTime"},
	"print":          {"e2e.TestPagesThatBehaveBadly"},
	"popups":         {"e2e.TestPopupsAreCapped", "e2e.TestEveryCommandAnswersInTime", "browser/chromium.TestFlags"},
	"hung-js":        {"e2e.TestEveryCommandAnswersInTime"},
	"renderer-crash": {"e2e.TestCrashedRenderer"},
	"browser-crash":  {"e2e.TestKilledChromiumInTheMiddleOfAClick", "e2e.TestKilledChromiumBringsBackURLAndCookies", "e2e.TestBadInput", "e2e.TestOtherProgramsAreNotStarted", "browser/chromium.TestReapAfterKilledDaemon"},
	"oom":            {"e2e.TestPagesThatBehaveBadly"},
	"history-flood":  {"e2e.TestPagesThatBehaveBadly", "browser/chromium.TestFlags"},
	"external-proto": {"e2e.TestOtherProgramsAreNotStarted", "e2e.TestBadInput"},
	"session-x":      {"e2e.TestSessionsShareNothing", "policy.TestSessionProxiesAreIsolated", "e2e.TestAutonomyHoldsOverEveryTransport"},
	"cdp-port":       {"browser/chromium.TestNoPortIsOpen"},
	"chromium-env":   {"browser/chromium.TestEnvironmentIsClean", "e2e.TestTheTokenStaysWithTheDaemon"},

	// The way out.
	"proxy-abuse":  {"policy.TestProxyAbuse", "policy.TestProxyAcceptsOnlyItsOwnBrowser", "policy.TestProxySmugglesNothing", "policy.TestSessionProxiesAreIsolated"},
	"proxy-budget": {"policy.TestBudgets"},
	"env-proxy":    {"policy.TestNoProxyOfTheEnvironment"},

	// What a server answers to the daemon's own requests.
	"gzip-bomb":       {"fallback/fetch.TestBombsStopAtTheCap", "fallback/fetch.TestNestedAndUnknownCodingsAreRefused", "fallback/fetch.TestZstdWindowIsBounded"},
	"endless-body":    {"fallback/fetch.TestEndlessBodiesEnd", "fallback/fetch.TestABodyThatBreaksOffIsGivenAsFarAsItCame"},
	"endless-headers": {"fallback/fetch.TestEndlessHeadersAreRefused"},
	"redirect-loop":   {"fallback/fetch.TestRedirectsEnd", "fallback/fetch.TestCheckIsAskedAtEveryHop"},
	"cred-xsite":      {"fallback/fetch.TestCredentialsDoNotCrossOrigins"},
	"tls":             {"fallback/fetch.TestFailuresAreNamed"},
	"jina":            {"fallback/reader.TestSecretsAreNotTold"},

	// Files, states and permissions.
	"download-big":  {"e2e.TestDownloadLimits", "e2e.TestDownloadsAreDenied"},
	"download-name": {"e2e.TestDownloadNames", "browser/network.TestDownloadName"},
	"upload-path":   {"e2e.TestUploadPaths"},
	"permissions":   {"e2e.TestPermissions"},
	"state-name":    {"e2e.TestHostileStates"},
	"state-poison":  {"e2e.TestHostileStates"},

	// What a page says.
	"inj-newline":   {"e2e.TestNothingInTheSnapshotIsForged", "snapshot.TestQuote", "e2e.TestTheParserRefusesForgeries"},
	"inj-ref":       {"e2e.TestNothingInTheSnapshotIsForged", "e2e.TestARefNeverActsOnAnotherRow", "e2e.TestRefsAcrossDocuments"},
	"inj-ansi":      {"e2e.TestNothingInTheSnapshotIsForged", "e2e.TestWordsOutsideTheSnapshot", "snapshot.TestQuote"},
	"inj-invisible": {"e2e.TestNothingInTheSnapshotIsForged", "snapshot.TestQuote"},
	"inj-hidden":    {"browser.TestWalkPages"},
	"inj-title":     {"e2e.TestWordsOutsideTheSnapshot", "e2e.TestHugeDocuments", "e2e.TestNothingInTheSnapshotIsForged"},
	"inj-boundary":  {"e2e.TestNothingInTheSnapshotIsForged", "e2e.TestWordsOutsideTheSnapshot"},
}

// Every threat has its tests, and every test that is named exists.
func TestEveryThreatIsTested(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(sharedCases(t), "ssrf_cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Threats []struct{ ID, Threat string }
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases.Threats) < 40 {
		t.Fatalf("%d threats: %v", len(cases.Threats), err)
	}
	known := map[string]bool{}
	for _, c := range cases.Threats {
		known[c.ID] = true
		if len(threats[c.ID]) == 0 {
			t.Errorf("%s (%s) has no test", c.ID, c.Threat)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(threats)) {
		if !known[id] {
			t.Errorf("%s is no threat", id)
		}
		for _, name := range threats[id] {
			if !testExists(t, name) {
				t.Errorf("%s: there is no test %s", id, name)
			}
		}
	}
}

// testExists looks for a test by folder and name.
func testExists(t *testing.T, name string) bool {
	t.Helper()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder, test, _ := strings.Cut(name, ".")
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte("\nfunc "+test+"("))
	})
}
