// A driver of Apache Iggy's SDK for Go for `wireproof client`: see docs/driver-protocol.md.
// docs/iggy-sdks.md says how it is built.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"maps"
	"math/big"
	"os"
	"slices"
	"strconv"
	"time"

	iggy "github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	sdk "github.com/apache/iggy/foreign/go/contracts"
	"wireproof-drivers/driver"
)

const (
	user     = "iggy"
	password = "iggy"
	// patience is that of one call: by itself the library waits without end for a server that is gone.
	patience = 5 * time.Second
)

// kinds are the names of the kinds of headers; the first one is kind 1.
var kinds = []string{
	"raw", "string", "bool", "int8", "int16", "int32", "int64", "int128",
	"uint8", "uint16", "uint32", "uint64", "uint128", "float32", "float64",
}

type typed struct {
	Kind  string `json:"kind"`
	Value []byte `json:"value"`
}

type request struct {
	Settings struct {
		TCP       string `json:"tcp"`
		Transport string `json:"transport"`
		Stream    uint32 `json:"stream"`
		Topic     uint32 `json:"topic"`
		Partition uint32 `json:"partition"`
	} `json:"settings"`
	Name         string    `json:"name"`
	Strategy     string    `json:"strategy"`
	Value        string    `json:"value"`
	Count        uint32    `json:"count"`
	AutoCommit   bool      `json:"auto_commit"`
	Messages     []message `json:"messages"`
	Partitioning *typed    `json:"partitioning"`
}

type message struct {
	Payload []byte          `json:"payload"`
	ID      string          `json:"id"`
	Headers json.RawMessage `json:"headers"`
}

type client struct {
	given  request
	sdk    sdk.Client
	stream sdk.Identifier
	topic  sdk.Identifier
}

func (c *client) open(asked request) (driver.Line, error) {
	if asked.Settings.Transport != "tcp" {
		return nil, driver.Unsupported("transport")
	}
	c.given = asked
	c.stream, _ = sdk.NewIdentifier(asked.Settings.Stream)
	c.topic, _ = sdk.NewIdentifier(asked.Settings.Topic)
	return driver.Line{}, nil
}

// connect returns the library's client, which connects and logs in again by itself.
func (c *client) connect(ctx context.Context) (sdk.Client, error) {
	if c.sdk != nil {
		return c.sdk, nil
	}
	made, err := iggy.NewIggyClient(
		iggy.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
		iggy.WithTcp(
			tcp.WithServerAddress(c.given.Settings.TCP),
			tcp.WithAutoLogin(tcp.NewUsernamePasswordCredentials(user, password)),
		),
	)
	if err != nil {
		return nil, err
	}
	if err := made.Connect(ctx); err != nil {
		made.Close()
		return nil, err
	}
	c.sdk = made
	return made, nil
}

func (c *client) createStream(ctx context.Context, made sdk.Client, asked request) (driver.Line, error) {
	stream, err := made.CreateStream(ctx, asked.Name)
	if err != nil {
		return nil, err
	}
	return driver.Line{"id": stream.Id, "name": stream.Name}, nil
}

func (c *client) poll(ctx context.Context, made sdk.Client, asked request) (driver.Line, error) {
	// The kinds count from 1, in this order.
	kind := 1 + slices.Index([]string{"offset", "timestamp", "first", "last", "next"}, asked.Strategy)
	value, _ := strconv.ParseUint(asked.Value, 10, 64)
	strategy := sdk.NewPollingStrategy(sdk.MessagePolling(kind), value)
	own, _ := sdk.NewIdentifier(uint32(1))
	consumer, partition := sdk.NewSingleConsumer(own), c.given.Settings.Partition
	polled, err := made.PollMessages(
		ctx, c.stream, c.topic, consumer, strategy, asked.Count, asked.AutoCommit, &partition)
	if err != nil {
		return nil, err
	}
	messages := []driver.Line{}
	for _, each := range polled.Messages {
		messages = append(messages, told(each))
	}
	return driver.Line{"messages": messages}, nil
}

func (c *client) send(ctx context.Context, made sdk.Client, asked request) (driver.Line, error) {
	partitioning := sdk.PartitionId(c.given.Settings.Partition)
	if asked.Partitioning != nil {
		value := asked.Partitioning.Value
		switch asked.Partitioning.Kind {
		case "balanced":
			partitioning = sdk.None()
		case "partition_id":
			partitioning = sdk.PartitionId(binary.LittleEndian.Uint32(value))
		default:
			var err error
			if partitioning, err = sdk.EntityIdBytes(value); err != nil {
				return nil, err
			}
		}
	}
	messages := []sdk.IggyMessage{}
	for _, each := range asked.Messages {
		made, err := toSend(each)
		if err != nil {
			return nil, err
		}
		messages = append(messages, made)
	}
	response, err := made.SendMessages(ctx, c.stream, c.topic, partitioning, messages)
	if err != nil {
		return nil, err
	}
	confirmations := []driver.Line{}
	for _, each := range response.Confirmations {
		confirmations = append(confirmations, driver.Line{
			"stream": each.StreamId, "topic": each.TopicId, "partition": each.PartitionId,
			"base_offset": driver.Wide(each.BaseOffset),
		})
	}
	return driver.Line{"confirmations": confirmations}, nil
}

// toSend returns a message of the library; its ids are bytes, which the wire has as a number.
func toSend(given message) (sdk.IggyMessage, error) {
	options := []sdk.IggyMessageOpt{}
	if id, ok := new(big.Int).SetString(given.ID, 10); ok {
		var wide [16]byte
		id.FillBytes(wide[:])
		slices.Reverse(wide[:])
		options = append(options, sdk.WithID(wide))
	}
	headers, err := entries(given.Headers)
	if err != nil {
		return sdk.IggyMessage{}, err
	}
	if len(headers) > 0 {
		options = append(options, sdk.WithUserHeaders(headers))
	}
	return sdk.NewIggyMessage(given.Payload, options...)
}

// entries returns headers of the library: keys of an object are text, others stand in an array.
func entries(given json.RawMessage) ([]sdk.HeaderEntry, error) {
	var pairs []struct{ Key, Value typed }
	if len(given) > 0 && given[0] == '{' {
		var named map[string]typed
		if err := json.Unmarshal(given, &named); err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(named)) {
			pairs = append(pairs, struct{ Key, Value typed }{typed{"string", []byte(key)}, named[key]})
		}
	} else if len(given) > 0 {
		if err := json.Unmarshal(given, &pairs); err != nil {
			return nil, err
		}
	}
	found := []sdk.HeaderEntry{}
	for _, each := range pairs {
		key, value := slices.Index(kinds, each.Key.Kind), slices.Index(kinds, each.Value.Kind)
		if key < 0 || value < 0 {
			return nil, driver.Unsupported("headers")
		}
		found = append(found, sdk.HeaderEntry{
			Key:   sdk.HeaderKey{Kind: sdk.HeaderKind(key + 1), Value: each.Key.Value},
			Value: sdk.HeaderValue{Kind: sdk.HeaderKind(value + 1), Value: each.Value.Value},
		})
	}
	return found, nil
}

// told returns what the library tells its user of a message.
func told(given sdk.IggyMessage) driver.Line {
	id := given.Header.Id
	slices.Reverse(id[:])
	line := driver.Line{
		"offset":           driver.Wide(given.Header.Offset),
		"timestamp":        driver.Wide(given.Header.Timestamp),
		"origin_timestamp": driver.Wide(given.Header.OriginTimestamp),
		"id":               new(big.Int).SetBytes(id[:]).String(),
		"checksum":         driver.Wide(given.Header.Checksum),
		"payload":          given.Payload,
	}
	headers, err := sdk.DeserializeHeaders(given.UserHeaders)
	if err != nil {
		line["warning"] = err.Error()
		return line
	}
	named, pairs := driver.Line{}, []driver.Line{}
	for _, each := range headers {
		key := typed{kindName(each.Key.Kind), each.Key.Value}
		value := typed{kindName(each.Value.Kind), each.Value.Value}
		named[string(each.Key.Value)] = value
		pairs = append(pairs, driver.Line{"key": key, "value": value})
	}
	line["headers"] = named
	isNoText := func(each sdk.HeaderEntry) bool { return each.Key.Kind != sdk.String }
	if len(named) < len(pairs) || slices.ContainsFunc(headers, isNoText) {
		line["headers"] = pairs
	}
	return line
}

// kindName returns the name of a kind, or its number: the library keeps kinds that have no name.
func kindName(kind sdk.HeaderKind) string {
	if kind < 1 || int(kind) > len(kinds) {
		return strconv.Itoa(int(kind))
	}
	return kinds[kind-1]
}

func main() {
	c := &client{}
	read := func(do func(request) (driver.Line, error)) driver.Operation {
		return func(line []byte) (driver.Line, error) {
			var asked request
			if err := json.Unmarshal(line, &asked); err != nil {
				return nil, err
			}
			return do(asked)
		}
	}
	call := func(do func(context.Context, sdk.Client, request) (driver.Line, error)) driver.Operation {
		return read(func(asked request) (driver.Line, error) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			made, err := c.connect(ctx)
			if err != nil {
				return nil, err
			}
			return do(ctx, made, asked)
		})
	}
	driver.ServeOperations("Apache Iggy SDK for Go", "0.9.0-edge.4", []string{"tcp", "headers"},
		map[string]driver.Operation{
			"open":          read(c.open),
			"create_stream": call(c.createStream),
			"poll":          call(c.poll),
			"send":          call(c.send),
			"close":         read(func(request) (driver.Line, error) { return driver.Line{}, nil }),
		})
}
