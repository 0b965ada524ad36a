// A driver of nsqio/go-nsq for `wireproof client`: see docs/driver-protocol.md.
package main

import (
	nsq "github.com/nsqio/go-nsq"
	"wireproof-drivers/driver"
)

type client struct {
	given    driver.Settings
	producer *nsq.Producer
	consumer *nsq.Consumer
}

func (c *client) Open(given driver.Settings) { c.given = given }

func (c *client) config() *nsq.Config {
	config := nsq.NewConfig()
	config.LookupdPollInterval = c.given.LookupInterval()
	config.LookupdPollJitter = 0
	return config
}

func (c *client) Produce(asked driver.Request) (driver.Line, error) {
	if err := asked.Original(); err != nil {
		return nil, err
	}
	if c.producer == nil {
		producer, err := nsq.NewProducer(c.given.Nsqd, c.config())
		if err != nil {
			return nil, err
		}
		producer.SetLogger(driver.Logger(), nsq.LogLevelInfo)
		c.producer = producer
	}
	return driver.Line{}, c.producer.Publish(asked.Topic, asked.Body)
}

func (c *client) Consume(asked driver.Request) error {
	if err := asked.Original(); err != nil {
		return err
	}
	config := c.config()
	config.MaxInFlight = asked.MaxInFlight()
	config.MsgTimeout = asked.MessageTimeout()
	consumer, err := nsq.NewConsumer(asked.Topic, asked.Channel, config)
	if err != nil {
		return err
	}
	consumer.SetLogger(driver.Logger(), nsq.LogLevelInfo)
	consumer.AddHandler(nsq.HandlerFunc(func(message *nsq.Message) error {
		driver.Say(driver.Message(asked.ID, message.ID[:], message.Body, message.Attempts, message.Timestamp))
		asked.Handle(message)
		return nil
	}))
	c.consumer = consumer
	return consumer.ConnectToNSQLookupds(c.given.Lookupd)
}

func (c *client) Close() {
	if c.consumer != nil {
		c.consumer.Stop()
		<-c.consumer.StopChan
	}
	if c.producer != nil {
		c.producer.Stop()
	}
}

func main() {
	driver.Serve("nsqio/go-nsq", "v1.1.0", []string{}, &client{})
}
