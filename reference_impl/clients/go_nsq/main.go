// One real client, unchanged, as a program: it publishes or consumes over lookup servers and says
// on stdout, one JSON object a line, what it was told by the client library.
//
//	go_nsq produce -lookupd HOST:PORT -topic T -way ordered -count 100
//	go_nsq consume -lookupd HOST:PORT -topic T -channel C -way ordered
//
// A producer ends when everything it was told to send is acknowledged; a consumer, and a producer
// that was told no count, when stdin is closed. What is not over at the deadline ends with exit
// code 3.
package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

const (
	exitUsage   = 2
	exitOverdue = 3
)

func main() {
	if len(os.Args) < 2 {
		refuse("expected produce or consume, found nothing")
	}
	run, known := map[string]func(options) error{"produce": produce, "consume": consume}[os.Args[1]]
	if !known {
		refuse(fmt.Sprintf("expected produce or consume, found %q", os.Args[1]))
	}
	given := readOptions(os.Args[1], os.Args[2:])
	time.AfterFunc(given.deadline, func() {
		say(line{"event": "overdue"})
		os.Exit(exitOverdue)
	})
	if err := run(given); err != nil {
		say(line{"event": "failed", "error": err.Error()})
		os.Exit(1)
	}
}

func refuse(sentence string) {
	fmt.Fprintln(os.Stderr, "go_nsq:", sentence)
	os.Exit(exitUsage)
}

func stdinClosed() <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	return closed
}
