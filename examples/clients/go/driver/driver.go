// Package driver has what drivers of Go libraries share: the lines of docs/driver-protocol.md.
package driver

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Line is one line that a driver writes.
type Line map[string]interface{}

// Settings are what a driver is told with open.
type Settings struct {
	Lookupd          []string `json:"lookupd"`
	Nsqd             string   `json:"nsqd"`
	LookupIntervalMs int      `json:"lookup_interval_ms"`
	PublishTimeoutMs int      `json:"publish_timeout_ms"`
}

// Request is one line that the kit writes.
type Request struct {
	ID       int                    `json:"id"`
	Op       string                 `json:"op"`
	Settings Settings               `json:"settings"`
	Topic    string                 `json:"topic"`
	Channel  string                 `json:"channel"`
	Body     []byte                 `json:"body"`
	Key      *string                `json:"key"`
	Ext      map[string]interface{} `json:"ext"`
	Tag      string                 `json:"tag"`
	TraceID  string                 `json:"trace_id"`
	Ordered  bool                   `json:"ordered"`
	Trace    bool                   `json:"trace"`
	Handler  string                 `json:"handler"`
	HoldMs   int                    `json:"hold_ms"`
	Timeout  int                    `json:"msg_timeout_ms"`
	Most     *int                   `json:"max_in_flight"`
}

// Client is a library as its driver uses it.
type Client interface {
	Open(Settings)
	Produce(Request) (Line, error)
	Consume(Request) error
	Close()
}

// Unsupported is the error of a request that the library has no word for.
type Unsupported string

func (what Unsupported) Error() string { return string(what) }

// Original returns the member of a request that clients of the original NSQ do not know, or nil.
func (asked Request) Original() error {
	for name, given := range map[string]bool{
		"key":      asked.Key != nil,
		"ext":      asked.Ext != nil,
		"tag":      asked.Tag != "",
		"trace_id": asked.TraceID != "",
		"ordered":  asked.Ordered,
		"trace":    asked.Trace,
	} {
		if given {
			return Unsupported(name)
		}
	}
	return nil
}

// KeyBytes returns the key of an ordered message, nil if it is empty.
func (asked Request) KeyBytes() []byte {
	if asked.Key == nil || *asked.Key == "" {
		return nil
	}
	return []byte(*asked.Key)
}

// Handled is what a message must be able to do for its handler.
type Handled interface {
	Touch()
	RequeueWithoutBackoff(time.Duration)
}

// Handle requeues, touches or holds a message, as the request says.
func (asked Request) Handle(message Handled) {
	switch asked.Handler {
	case "fail":
		message.RequeueWithoutBackoff(100 * time.Millisecond)
	case "touch":
		message.Touch()
	case "hold":
		time.Sleep(time.Duration(asked.HoldMs) * time.Millisecond)
	}
}

// MaxInFlight returns how many messages may be in flight together.
func (asked Request) MaxInFlight() int {
	if asked.Most == nil {
		return 20
	}
	return *asked.Most
}

// MessageTimeout returns the time-out to announce, or zero.
func (asked Request) MessageTimeout() time.Duration {
	return time.Duration(asked.Timeout) * time.Millisecond
}

// LookupInterval returns how often to look up.
func (given Settings) LookupInterval() time.Duration {
	return time.Duration(given.LookupIntervalMs) * time.Millisecond
}

// PublishTimeout returns how long a publish may wait for its answer.
func (given Settings) PublishTimeout() time.Duration {
	return time.Duration(given.PublishTimeoutMs) * time.Millisecond
}

var output sync.Mutex

// Say writes one line.
func Say(what Line) {
	output.Lock()
	defer output.Unlock()
	text, _ := json.Marshal(what)
	os.Stdout.Write(append(text, '\n'))
}

// Wide returns an integer that may exceed 2^53 as text.
func Wide(number uint64) string { return strconv.FormatUint(number, 10) }

// Message returns the line that says that a handler was given a message.
func Message(of int, id []byte, body []byte, attempts uint16, timestamp int64) Line {
	return Line{
		"event":       "message",
		"of":          of,
		"id":          hex.EncodeToString(id),
		"body":        base64.StdEncoding.EncodeToString(body),
		"internal_id": Wide(binary.BigEndian.Uint64(id[:8])),
		"trace_id":    Wide(binary.BigEndian.Uint64(id[8:])),
		"attempts":    attempts,
		"timestamp":   Wide(uint64(timestamp)),
	}
}

// Logger returns the logger of a library: standard error is free for it.
func Logger() *log.Logger { return log.New(os.Stderr, "", log.Lmicroseconds) }

// Operation carries out a request, which is a line in JSON, and returns the members of `ok`.
type Operation func(line []byte) (Line, error)

// Serve serves a client of NSQ until the input ends.
func Serve(name string, version string, claims []string, client Client) {
	read := func(do func(Request) (Line, error)) Operation {
		return func(line []byte) (Line, error) {
			var asked Request
			if err := json.Unmarshal(line, &asked); err != nil {
				log.Fatalf("no request: %v", err)
			}
			return do(asked)
		}
	}
	ServeOperations(name, version, claims, map[string]Operation{
		"open":    read(func(asked Request) (Line, error) { client.Open(asked.Settings); return Line{}, nil }),
		"produce": read(client.Produce),
		"consume": read(func(asked Request) (Line, error) { return Line{}, client.Consume(asked) }),
		"close":   read(func(Request) (Line, error) { client.Close(); return Line{}, nil }),
	})
}

// ServeOperations greets, and answers requests until the input ends.
func ServeOperations(name string, version string, claims []string, operations map[string]Operation) {
	names := []string{}
	for name := range operations {
		if name != "open" && name != "close" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	Say(Line{
		"hello":      "wireproof-driver",
		"versions":   []int{1},
		"name":       name,
		"version":    version,
		"operations": names,
		"claims":     claims,
	})
	lines := bufio.NewReader(os.Stdin)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked struct {
			ID int    `json:"id"`
			Op string `json:"op"`
		}
		if err := json.Unmarshal(text, &asked); err != nil {
			log.Fatalf("no request: %v", err)
		}
		operation, known := operations[asked.Op]
		if !known {
			answer(asked.ID, nil, Unsupported(asked.Op))
			continue
		}
		if unknown := unknownMember(text); unknown != "" {
			answer(asked.ID, nil, Unsupported(unknown))
			continue
		}
		result, err := operation(text)
		answer(asked.ID, result, err)
	}
}

// Members of requests that the libraries here can be asked for, or refuse by name.
var members = strings.Fields(`id op version settings topic body key ext tag trace_id channel handler
	hold_ms max_in_flight msg_timeout_ms ordered trace name strategy value count auto_commit messages
	partitioning`)

// unknownMember returns the name of a member that no library here knows, or nothing.
func unknownMember(text []byte) string {
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(text, &asked); err != nil {
		log.Fatalf("no request: %v", err)
	}
	for _, name := range members {
		delete(asked, name)
	}
	for name := range asked {
		return name
	}
	return ""
}

func answer(id int, result Line, err error) {
	switch what := err.(type) {
	case nil:
		Say(Line{"id": id, "ok": result})
	case Unsupported:
		Say(Line{"id": id, "unsupported": string(what)})
	default:
		Say(Line{"id": id, "error": Line{"message": err.Error()}})
	}
}
