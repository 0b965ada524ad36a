// A driver of youzan/go-nsq for `wireproof client`: see docs/driver-protocol.md.
package main

import (
	"strconv"

	"github.com/spaolacci/murmur3"
	nsq "github.com/youzan/go-nsq"
	"wireproof-drivers/driver"
)

type client struct {
	given     driver.Settings
	producer  *nsq.TopicProducerMgr
	consumers []*nsq.Consumer
}

func (c *client) Open(given driver.Settings) { c.given = given }

func (c *client) config() *nsq.Config {
	config := nsq.NewConfig()
	config.LookupdPollInterval = c.given.LookupInterval()
	config.PubTimeout = c.given.PublishTimeout()
	config.LookupdPollJitter = 0
	config.PubStrategy = int(nsq.PubRR)
	config.Hasher = murmur3.New32()
	return config
}

func (c *client) open(asked driver.Request) error {
	if c.producer != nil {
		return nil
	}
	config := c.config()
	config.EnableTrace = asked.TraceID != ""
	producer, err := nsq.NewTopicProducerMgr([]string{asked.Topic}, config)
	if err != nil {
		return err
	}
	producer.SetLogger(driver.Logger(), nsq.LogLevelInfo)
	producer.AddLookupdNodes(c.given.Lookupd)
	c.producer = producer
	return nil
}

func (c *client) Produce(asked driver.Request) (driver.Line, error) {
	if err := c.open(asked); err != nil {
		return nil, err
	}
	trace, _ := strconv.ParseUint(asked.TraceID, 10, 64)
	var id nsq.NewMessageID
	var offset uint64
	var size uint32
	var err error
	header := &nsq.MsgExt{TraceID: trace, DispatchTag: asked.Tag, Custom: asked.Ext}
	hasHeader, isOrdered := asked.Ext != nil || asked.Tag != "", asked.Key != nil
	switch {
	case hasHeader && isOrdered:
		id, offset, size, err = c.producer.PublishOrderedWithJsonExt(asked.Topic, []byte(*asked.Key), asked.Body, header)
	case hasHeader:
		id, offset, size, err = c.producer.PublishWithJsonExt(asked.Topic, asked.Body, header)
	case isOrdered:
		id, offset, size, err = c.producer.PublishOrdered(asked.Topic, asked.KeyBytes(), asked.Body)
	case asked.TraceID != "":
		id, offset, size, err = c.producer.PublishAndTrace(asked.Topic, trace, asked.Body)
	default:
		return driver.Line{}, c.producer.Publish(asked.Topic, asked.Body)
	}
	return driver.Line{"internal_id": driver.Wide(uint64(id)), "offset": driver.Wide(offset), "size": size}, err
}

func (c *client) Consume(asked driver.Request) error {
	config := c.config()
	config.MaxInFlight = asked.MaxInFlight()
	config.EnableOrdered = asked.Ordered
	config.EnableTrace = asked.Trace
	config.DesiredTag = asked.Tag
	config.MsgTimeout = asked.MessageTimeout()
	consumer, err := nsq.NewConsumer(asked.Topic, asked.Channel, config)
	if err != nil {
		return err
	}
	consumer.SetLogger(driver.Logger(), nsq.LogLevelInfo)
	consumer.AddHandler(nsq.HandlerFunc(func(message *nsq.Message) error {
		driver.Say(told(asked.ID, message))
		asked.Handle(message)
		return nil
	}))
	c.consumers = append(c.consumers, consumer)
	return consumer.ConnectToNSQLookupds(c.given.Lookupd)
}

func told(of int, message *nsq.Message) driver.Line {
	what := driver.Message(of, message.ID[:], message.Body, message.Attempts, message.Timestamp)
	if message.RawSize != 0 {
		what["offset"], what["size"] = driver.Wide(message.Offset), message.RawSize
	}
	if header, err := message.GetJsonExt(); err == nil && header != nil {
		what["ext"] = header.Custom
	}
	return what
}

func (c *client) Close() {
	for _, consumer := range c.consumers {
		consumer.Stop()
		<-consumer.StopChan
	}
	if c.producer != nil {
		c.producer.Stop()
	}
}

func main() {
	claims := []string{"key", "ext", "trace", "order"}
	driver.Serve("youzan/go-nsq", "v1.7.2-HA", claims, &client{})
}
