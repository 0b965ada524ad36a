// A driver of youzan/go-nsq for `wireproof client`: see docs/driver-protocol.md.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spaolacci/murmur3"
	nsq "github.com/youzan/go-nsq"
)

type line map[string]interface{}

type settings struct {
	Lookupd           []string `json:"lookupd"`
	LookupIntervalMs  int      `json:"lookup_interval_ms"`
	PublishTimeoutMs  int      `json:"publish_timeout_ms"`
	HeartbeatInterval int      `json:"heartbeat_interval_ms"`
}

type request struct {
	ID       int               `json:"id"`
	Op       string            `json:"op"`
	Settings settings          `json:"settings"`
	Topic    string            `json:"topic"`
	Channel  string            `json:"channel"`
	Body     string            `json:"body"`
	Key      *string           `json:"key"`
	Ext      map[string]string `json:"ext"`
	Tag      string            `json:"tag"`
	TraceID  string            `json:"trace_id"`
	Ordered  bool              `json:"ordered"`
	Trace    bool              `json:"trace"`
	Handler  string            `json:"handler"`
	HoldMs   int               `json:"hold_ms"`
	Timeout  int               `json:"msg_timeout_ms"`
}

var output sync.Mutex

func say(what line) {
	output.Lock()
	defer output.Unlock()
	text, _ := json.Marshal(what)
	os.Stdout.Write(append(text, '\n'))
}

func answer(id int, result line, err error) {
	if err != nil {
		say(line{"id": id, "error": line{"message": err.Error()}})
		return
	}
	say(line{"id": id, "ok": result})
}

func wide(number uint64) string { return strconv.FormatUint(number, 10) }

type driver struct {
	given     settings
	producer  *nsq.TopicProducerMgr
	traced    bool
	consumers []*nsq.Consumer
}

func (d *driver) config() *nsq.Config {
	config := nsq.NewConfig()
	config.LookupdPollInterval = time.Duration(d.given.LookupIntervalMs) * time.Millisecond
	config.PubTimeout = time.Duration(d.given.PublishTimeoutMs) * time.Millisecond
	config.LookupdPollJitter = 0
	config.PubStrategy = int(nsq.PubRR)
	config.Hasher = murmur3.New32()
	return config
}

func logger() *log.Logger { return log.New(os.Stderr, "", log.Lmicroseconds) }

func (d *driver) produce(asked request) (line, error) {
	if d.producer == nil {
		config := d.config()
		config.EnableTrace = asked.TraceID != ""
		producer, err := nsq.NewTopicProducerMgr([]string{asked.Topic}, config)
		if err != nil {
			return nil, err
		}
		producer.SetLogger(logger(), nsq.LogLevelInfo)
		producer.AddLookupdNodes(d.given.Lookupd)
		d.producer = producer
	}
	body, err := base64.StdEncoding.DecodeString(asked.Body)
	if err != nil {
		return nil, err
	}
	trace, _ := strconv.ParseUint(asked.TraceID, 10, 64)
	var id nsq.NewMessageID
	var offset uint64
	var size uint32
	switch {
	case asked.Ext != nil || asked.Tag != "":
		header := &nsq.MsgExt{TraceID: trace, DispatchTag: asked.Tag, Custom: map[string]interface{}{}}
		for name, value := range asked.Ext {
			header.Custom[name] = value
		}
		if asked.Key != nil {
			id, offset, size, err = d.producer.PublishOrderedWithJsonExt(asked.Topic, []byte(*asked.Key), body, header)
		} else {
			id, offset, size, err = d.producer.PublishWithJsonExt(asked.Topic, body, header)
		}
	case asked.Key != nil && *asked.Key == "":
		id, offset, size, err = d.producer.PublishOrdered(asked.Topic, nil, body)
	case asked.Key != nil:
		id, offset, size, err = d.producer.PublishOrdered(asked.Topic, []byte(*asked.Key), body)
	case asked.TraceID != "":
		id, offset, size, err = d.producer.PublishAndTrace(asked.Topic, trace, body)
	default:
		return line{}, d.producer.Publish(asked.Topic, body)
	}
	return line{"internal_id": wide(uint64(id)), "offset": wide(offset), "size": size}, err
}

func (d *driver) consume(asked request) (line, error) {
	config := d.config()
	config.MaxInFlight = 20
	config.EnableOrdered = asked.Ordered
	config.EnableTrace = asked.Trace
	config.DesiredTag = asked.Tag
	if asked.Timeout > 0 {
		config.MsgTimeout = time.Duration(asked.Timeout) * time.Millisecond
	}
	consumer, err := nsq.NewConsumer(asked.Topic, asked.Channel, config)
	if err != nil {
		return nil, err
	}
	consumer.SetLogger(logger(), nsq.LogLevelInfo)
	consumer.AddHandler(nsq.HandlerFunc(func(message *nsq.Message) error {
		say(told(asked.ID, message))
		switch asked.Handler {
		case "fail":
			message.RequeueWithoutBackoff(100 * time.Millisecond)
		case "touch":
			message.Touch()
		case "hold":
			time.Sleep(time.Duration(asked.HoldMs) * time.Millisecond)
		}
		return nil
	}))
	d.consumers = append(d.consumers, consumer)
	return line{}, consumer.ConnectToNSQLookupds(d.given.Lookupd)
}

func told(of int, message *nsq.Message) line {
	what := line{
		"event":       "message",
		"of":          of,
		"id":          hex(message.ID[:]),
		"body":        base64.StdEncoding.EncodeToString(message.Body),
		"internal_id": wide(uint64(nsq.GetNewMessageID(message.ID[:]))),
		"trace_id":    wide(message.GetTraceID()),
		"attempts":    message.Attempts,
		"timestamp":   wide(uint64(message.Timestamp)),
	}
	if message.RawSize != 0 {
		what["offset"], what["size"] = wide(message.Offset), message.RawSize
	}
	if header, err := message.GetJsonExt(); err == nil && header != nil {
		what["ext"] = header.Custom
	}
	return what
}

func hex(data []byte) string {
	const digits = "0123456789abcdef"
	text := make([]byte, 0, 2*len(data))
	for _, each := range data {
		text = append(text, digits[each>>4], digits[each&15])
	}
	return string(text)
}

func (d *driver) close() {
	for _, consumer := range d.consumers {
		consumer.Stop()
		<-consumer.StopChan
	}
	if d.producer != nil {
		d.producer.Stop()
	}
}

func (d *driver) do(asked request) {
	switch asked.Op {
	case "open":
		d.given = asked.Settings
		answer(asked.ID, line{}, nil)
	case "produce":
		result, err := d.produce(asked)
		answer(asked.ID, result, err)
	case "consume":
		result, err := d.consume(asked)
		answer(asked.ID, result, err)
	case "close":
		d.close()
		answer(asked.ID, line{}, nil)
	default:
		say(line{"id": asked.ID, "unsupported": asked.Op})
	}
}

func main() {
	say(line{
		"hello":      "wireproof-driver",
		"versions":   []int{1},
		"name":       "youzan/go-nsq",
		"version":    "v1.7.2-HA",
		"operations": []string{"produce", "consume"},
		"claims":     []string{"key", "ext", "trace", "order"},
	})
	given := &driver{}
	lines := bufio.NewReader(os.Stdin)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		if err := json.Unmarshal(text, &asked); err != nil {
			answer(0, nil, errors.New("no request: "+err.Error()))
			return
		}
		given.do(asked)
	}
}
