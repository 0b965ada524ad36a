package main

import (
	"fmt"
	"time"

	nsq "github.com/youzan/go-nsq"
)

// batch is how many messages one MPUB carries.
const batch = 10

// message is what is to be published, and told apart when it is delivered.
type message struct {
	number int
	body   string
	key    string
	trace  uint64
}

// receipt is what was sent as header and what the client library gives back; the place only where
// it was asked to trace.
type receipt struct {
	header string
	traced bool
	id     nsq.NewMessageID
	offset uint64
	size   uint32
}

type publish func(*nsq.TopicProducerMgr, options, message) (receipt, error)

var ways = map[string]publish{
	"plain":           plain,
	"trace":           traced,
	"ordered":         ordered,
	"ordered-trace":   ordered,
	"ext":             extended,
	"ext-trace":       extended,
	"ordered-ext":     orderedExtended,
	"partition-first": toPartition,
}

// produce publishes every message until it is acknowledged, as a careful user would.
func produce(given options) error {
	config := configure(given)
	config.EnableTrace = given.way == "ordered-trace"
	producer, err := nsq.NewTopicProducerMgr([]string{given.topic}, config)
	if err != nil {
		return err
	}
	defer producer.Stop()
	producer.SetLogger(logger(), nsq.LogLevelInfo)
	producer.AddLookupdNodes(given.lookupds)
	if given.way == "multi" {
		return produceBatches(producer, given)
	}
	act, known := ways[given.way]
	if !known {
		refuse(fmt.Sprintf("no way to publish is called %q", given.way))
	}
	closed := stdinClosed()
	for number := 0; ; number++ {
		if given.count > 0 && number == given.count || given.count == 0 && isClosed(closed) {
			say(line{"event": "done"})
			return nil
		}
		each := numbered(given, number)
		got := untilAcknowledged(each, func() (receipt, error) { return act(producer, given, each) })
		say(sent(each, got))
		time.Sleep(given.every)
	}
}

func isClosed(closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	default:
		return false
	}
}

// numbered returns the message of a number; trace ids cover both ends of 64 bits.
func numbered(given options, number int) message {
	trace := uint64(number + 1)
	if number%2 == 1 {
		trace = ^uint64(0) - uint64(number)
	}
	return message{
		number: number,
		body:   fmt.Sprintf("%s-%06d", given.body, number),
		key:    fmt.Sprintf("key-%d", number%given.keys),
		trace:  trace,
	}
}

func untilAcknowledged(each message, act func() (receipt, error)) receipt {
	for {
		got, err := act()
		if err == nil {
			return got
		}
		say(line{"event": "refused", "body": each.body, "error": err.Error()})
		time.Sleep(50 * time.Millisecond)
	}
}

func sent(each message, got receipt) line {
	what := line{"event": "sent", "body": each.body, "key": each.key, "trace": wide(each.trace)}
	if got.header != "" {
		what["header"] = got.header
	}
	if got.traced {
		what["id"] = wide(uint64(got.id))
		what["offset"] = wide(got.offset)
		what["size"] = got.size
	}
	return what
}

func plain(producer *nsq.TopicProducerMgr, given options, each message) (receipt, error) {
	return receipt{}, producer.Publish(given.topic, []byte(each.body))
}

func toPartition(producer *nsq.TopicProducerMgr, given options, each message) (receipt, error) {
	return receipt{}, producer.PublishWithPartitionId(given.topic, 0, []byte(each.body))
}

func traced(producer *nsq.TopicProducerMgr, given options, each message) (receipt, error) {
	id, offset, size, err := producer.PublishAndTrace(given.topic, each.trace, []byte(each.body))
	return receipt{"", true, id, offset, size}, err
}

func ordered(producer *nsq.TopicProducerMgr, given options, each message) (receipt, error) {
	id, offset, size, err := producer.PublishOrdered(given.topic, []byte(each.key), []byte(each.body))
	return receipt{"", given.way == "ordered-trace", id, offset, size}, err
}

func extended(producer *nsq.TopicProducerMgr, given options, each message) (receipt, error) {
	header := headerOf(given, each)
	id, offset, size, err := producer.PublishWithJsonExt(given.topic, []byte(each.body), header)
	return receipt{string(header.ToJson()), header.TraceID != 0, id, offset, size}, err
}

func orderedExtended(producer *nsq.TopicProducerMgr, given options, each message) (receipt, error) {
	header := headerOf(given, each)
	_, _, _, err := producer.PublishOrderedWithJsonExt(
		given.topic, []byte(each.key), []byte(each.body), header)
	return receipt{header: string(header.ToJson())}, err
}

// headerOf returns a header with text beyond ASCII, with escapes that JSON demands and with such
// that only Go makes.
func headerOf(given options, each message) *nsq.MsgExt {
	header := &nsq.MsgExt{
		DispatchTag: given.tag,
		Custom: map[string]interface{}{
			"number": fmt.Sprint(each.number),
			"text":   "grün <\"quoted\"> \\ \u2713",
		},
	}
	if given.way == "ext-trace" {
		header.TraceID = each.trace
	}
	return header
}

func produceBatches(producer *nsq.TopicProducerMgr, given options) error {
	for first := 0; first < given.count; first += batch {
		var bodies [][]byte
		var messages []message
		for number := first; number < first+batch && number < given.count; number++ {
			each := numbered(given, number)
			messages = append(messages, each)
			bodies = append(bodies, []byte(each.body))
		}
		untilAcknowledged(messages[0], func() (receipt, error) {
			return receipt{}, producer.MultiPublish(given.topic, bodies)
		})
		for _, each := range messages {
			say(sent(each, receipt{}))
		}
		time.Sleep(given.every)
	}
	say(line{"event": "done"})
	return nil
}
