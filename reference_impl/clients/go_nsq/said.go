package main

import (
	"encoding/json"
	"os"
	"strconv"
	"sync"
)

// line is one thing said. Integers of 64 bits are decimal strings in it, as JSON readers that
// know only floating point would round them.
type line map[string]interface{}

var saying sync.Mutex

func say(what line) {
	text, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	saying.Lock()
	defer saying.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

func wide(number uint64) string {
	return strconv.FormatUint(number, 10)
}
