package main

import (
	"fmt"
	"sync"
	"time"

	nsq "github.com/youzan/go-nsq"
)

// handler says what it is given, and gives some of it back once.
type handler struct {
	given options
	guard sync.Mutex
	seen  map[nsq.FullMessageID]bool
}

// consume says every delivery until stdin is closed, then ends as the client library ends.
func consume(given options) error {
	config := configure(given)
	config.MaxInFlight = 20
	config.DesiredTag = given.tag
	switch given.way {
	case "plain", "ext":
	case "ordered":
		config.EnableOrdered = true
	case "trace":
		config.EnableTrace = true
	default:
		refuse(fmt.Sprintf("no way to consume is called %q", given.way))
	}
	consumer, err := nsq.NewConsumer(given.topic, given.channel, config)
	if err != nil {
		return err
	}
	consumer.SetLogger(logger(), nsq.LogLevelInfo)
	consumer.AddConcurrentHandlers(&handler{given: given, seen: map[nsq.FullMessageID]bool{}}, given.handlers)
	if err := consumer.ConnectToNSQLookupds(given.lookupds); err != nil {
		return err
	}
	<-stdinClosed()
	consumer.Stop()
	<-consumer.StopChan
	stats := consumer.Stats()
	say(line{
		"event":    "stopped",
		"received": stats.MessagesReceived,
		"finished": stats.MessagesFinished,
		"requeued": stats.MessagesRequeued,
	})
	return nil
}

func (h *handler) HandleMessage(message *nsq.Message) error {
	number, again := h.count(message)
	what := received(message)
	switch {
	case again:
	case number < h.given.requeue:
		what["answer"] = "requeue"
		say(what)
		message.RequeueWithoutBackoff(h.given.delay)
		return nil
	case number < h.given.requeue+h.given.touch:
		message.Touch()
		what["answer"] = "touch"
	}
	say(what)
	time.Sleep(h.given.every)
	return nil
}

// count tells how many messages came before, and whether this one did.
func (h *handler) count(message *nsq.Message) (int, bool) {
	h.guard.Lock()
	defer h.guard.Unlock()
	number, again := len(h.seen), h.seen[message.GetFullMsgID()]
	h.seen[message.GetFullMsgID()] = true
	return number, again
}

func received(message *nsq.Message) line {
	what := line{
		"event":     "received",
		"body":      string(message.Body),
		"id":        wide(uint64(nsq.GetNewMessageID(message.ID[:]))),
		"trace":     wide(message.GetTraceID()),
		"attempts":  message.Attempts,
		"partition": message.Partition,
		"node":      message.NSQDAddress,
		"timestamp": wide(uint64(message.Timestamp)),
		"answer":    "finish",
	}
	if message.RawSize != 0 {
		what["offset"] = wide(message.Offset)
		what["size"] = message.RawSize
	}
	if message.ExtVer != nsq.NoExtVer {
		what["header_version"] = message.ExtVer
		what["header"] = string(message.ExtBytes)
	}
	return what
}
