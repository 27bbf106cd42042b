package e2e_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/protocol"
)

// database opens the fleet's database.
func database(t *testing.T, pg *testpostgres.Server) *sql.DB {
	t.Helper()
	db, err := sql.Open(postgres.Driver, pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// portOfNode is the port of a node's fleet.listen.
func portOfNode(t *testing.T, db *sql.DB, name string) string {
	t.Helper()
	var address string
	if err := db.QueryRow("SELECT address FROM nodes WHERE name = $1", name).Scan(&address); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// nodeID makes what looks like the ID of a node.
func nodeID() string {
	b := make([]byte, 16)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[rand.IntN(32)]
	}
	return string(b)
}

// Strangers without a token ask for views of nodes that nobody knows, and clients with one for such MCP conversations, in
// requests as large as they may be: nothing is asked of the database for them, nothing of them stays in memory, and a right
// token opens sessions meanwhile.
func TestStrangersNameNodes(t *testing.T) {
	t.Parallel()
	const requests, clients = 6000, 12
	pg := testpostgres.Start(t)
	env := map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}
	d, other := startNode(t, pg, "one", env), startNode(t, pg, "two", env)
	db := database(t, pg)
	a := newAgent(t, d)
	before, _ := memory(t, d)
	long := strings.Repeat("x", 50<<10)
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			for i := range requests / clients {
				id := nodeID()
				switch i % 4 {
				case 1:
					id = fmt.Sprint("node", n, "-", i)
				case 2:
					id = long + id
				}
				token, path, header := "", "/view/"+id+".x/"+long[:max(0, len(long)-len(id))], ""
				if i%4 == 3 {
					token, path, header = d.Token, "/mcp", id+".x"
				}
				if err := asksOnce(d, path, token, header); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	began, opened := time.Now(), 0
	for done := awaitAll(&all); ; opened++ {
		a.do("session_open", params{"name": "work", "source": "http"})
		a.do("session_close", params{"session": "work"})
		select {
		case <-done:
		default:
			continue
		}
		break
	}
	took := time.Since(began)
	after, peak := memory(t, d)
	t.Logf("%d sessions were opened meanwhile; %d MiB before, %d after, at most %d", opened, before, after, peak)
	if peak > before+60 {
		t.Errorf("the daemon had %d MiB at most, and before %d", peak, before)
	}
	d.Kill() // PostgreSQL counts what a connection did when it ends
	other.Kill()
	var scans int
	until(t, 10*time.Second, "the ends of the connections", func() bool {
		var open int
		err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&open)
		return err == nil && open == 0
	})
	if err := db.QueryRow("SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'nodes'").Scan(&scans); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d scans of the table of nodes in %v", scans, took)
	if limit := 200 + 4*opened + 5*int(took.Seconds()); scans > limit {
		t.Errorf("the table of nodes was read %d times, and heartbeats and sessions take %d at most", scans, limit)
	}
}

func awaitAll(all *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		all.Wait()
	}()
	return done
}

// asksOnce sends a request on a connection of its own, and reads the first line of the answer.
func asksOnce(d *testdaemon.Daemon, path, token, conversation string) error {
	conn, err := net.Dial("tcp", d.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	text := "GET " + path + " HTTP/1.1\r\nHost: " + d.Addr + "\r\nAccept: text/event-stream\r\nConnection: close\r\n"
	if token != "" {
		text += "Authorization: Bearer " + token + "\r\nMcp-Session-Id: " + conversation + "\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && strings.Contains(line, " 200 ") {
		err = fmt.Errorf("%.80s: %s", path, line)
	}
	return err
}

// Strangers hold connections at fleet.listen and say nothing: they take no more places than there are, the oldest of them give
// way, and nodes still reach each other.
func TestSilentStrangersAtTheFleetsPort(t *testing.T) {
	t.Parallel()
	const strangers = 1500
	pg := testpostgres.Start(t)
	env := map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}
	d := startNode(t, pg, "one", env)
	newAgent(t, d).do("session_open", params{"name": "work", "source": "http"})
	port := portOfNode(t, database(t, pg), "one")
	descriptors := func() int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.PID))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before, most := descriptors(), 0
	for n := range strangers {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if n%50 == 0 {
			most = max(most, descriptors())
		}
	}
	for range 20 {
		most = max(most, descriptors())
		time.Sleep(10 * time.Millisecond) // the daemon accepts, and nothing says how far it is
	}
	t.Logf("%d descriptors before, %d at most", before, most)
	if most > before+256+100 {
		t.Errorf("the daemon has %d descriptors, and had %d", most, before)
	}
	e := startNode(t, pg, "two", env)
	if _, err := newAgent(t, e).try("wait", params{"session": "work", "ms": 1}); err != nil {
		t.Errorf("a command through the other node: %v", err)
	}
	if why := ready(t, d); why != "" {
		t.Errorf("the node is not ready: %s", why)
	}
}

// The port of fleet.listen is the daemon's own: nothing that an agent opens reaches it, whatever policy.allow_hosts names.
func TestPagesDoNotReachTheFleetsPort(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	db := database(t, pg)
	for name, env := range map[string]map[string]string{
		"loopback":      {"BROWSERD_FLEET__LISTEN": "127.0.0.1:0"},
		"all-addresses": {"BROWSERD_FLEET__LISTEN": ":0"},
		"advertised":    {"BROWSERD_FLEET__LISTEN": "127.0.0.1:0", "BROWSERD_FLEET__ADVERTISE": "127.0.0.1:19334"},
	} {
		env["BROWSERD_BROWSER__DISABLED"], env["BROWSERD_POLICY__ALLOW_HOSTS"] = "true", "127.0.0.1"
		d := startNode(t, pg, name, env)
		a := newAgent(t, d)
		e := a.refused("http_request", params{"url": "http://127.0.0.1:" + portOfNode(t, db, name) + "/"}, protocol.PolicyDenied)
		if e.Details["reason"] != "ip_self" {
			t.Errorf("%s: %v", name, e.Details)
		}
	}
}
