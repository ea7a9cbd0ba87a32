package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// documentedErrors returns the rows of the table of errors in docs/http.md: the codes
// of each status; a status without one is answered without JSON.
func documentedErrors(t *testing.T) map[int]string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[int]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d{3}) \| (.*?) \|`).FindAllStringSubmatch(string(page), -1) {
		status, _ := strconv.Atoi(row[1])
		rows[status] += row[2]
	}
	return rows
}

// The table of errors in docs/http.md has every kind of error under its status, and no
// others.
func TestErrorsAreDocumented(t *testing.T) {
	rows := documentedErrors(t)
	codes := regexp.MustCompile("`([A-Z_]+)`")
	for kind, status := range statuses {
		if !strings.Contains(rows[status.code], "`"+kind.String()+"`") {
			t.Errorf("docs/http.md has no row for %d %s", status.code, kind)
		}
	}
	for status, text := range rows {
		for _, code := range codes.FindAllStringSubmatch(text, -1) {
			kind, ok := turn.ParseKind(code[1])
			if !ok || statuses[kind].code != status && status != http.StatusMethodNotAllowed {
				t.Errorf("docs/http.md says %d %s, which is no answer", status, code[1])
			}
		}
	}
}

// A request that is rejected before it is understood as one gets a status that the table
// of errors has without a code.
func TestRejectedBeforeItIsARequest(t *testing.T) {
	d := startServer(t)
	const end = "Host: localhost\r\nConnection: close\r\n\r\n"
	head := func(size int) string {
		const line = "GET /livez HTTP/1.1\r\nX: "
		return line + strings.Repeat("x", size-len(line)-len("\r\n"+end)) + "\r\n" + end
	}
	requests := map[int]string{
		400: "a request that is not HTTP\r\n\r\n",
		417: "GET /livez HTTP/1.1\r\nExpect: a miracle\r\n" + end,
		431: head(maxHead + 1),
		501: "POST /v1/sessions/a/messages HTTP/1.1\r\nTransfer-Encoding: gzip\r\n" + end,
		505: "GET /livez HTTP/3.0\r\n" + end,
	}
	rows := documentedErrors(t)
	page, err := os.ReadFile("../../../docs/http.md")
	if bound := fmt.Sprintf("exceed %d KiB or %d lines", maxHead>>10, maxHeadLines); err != nil ||
		!strings.Contains(string(page), bound) {
		t.Errorf("docs/http.md does not say %q of heads: %v", bound, err)
	}
	for status := range rows {
		if _, tried := requests[status]; !tried && !strings.Contains(rows[status], "`") {
			t.Errorf("docs/http.md says %d, and nothing here shows it", status)
		}
	}
	for status, request := range requests {
		if a := d.send(request); a.status != status || strings.Contains(a.header.Get("Content-Type"), "json") {
			t.Errorf("%.60q: %d %s %.100q; want %d", request, a.status, a.header.Get("Content-Type"), a.body, status)
		}
		if _, ok := rows[status]; !ok {
			t.Errorf("docs/http.md has no row for %d", status)
		}
	}
	if a := d.send(head(maxHead)); a.status != 200 {
		t.Errorf("a head of %d bytes: %d", maxHead, a.status)
	}
	if a := d.send("GET /v1/sessions/%zz HTTP/1.1\r\n" + end); a.status != 400 {
		t.Errorf("a path that is not validly percent-encoded: %d", a.status)
	}
}

// send sends bytes over a connection of their own and returns the answer.
func (d *testServer) send(bytes string) answer {
	d.t.Helper()
	conn, err := net.Dial("tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute)) // longer than any answer takes
	if _, err := io.WriteString(conn, bytes); err != nil {
		d.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		d.t.Fatalf("%.60q: %v", bytes, err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body) // cut short where the server did not read all of the request
	return answer{resp.StatusCode, resp.Header, string(b)}
}
