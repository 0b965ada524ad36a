package main

import (
	"flag"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/spaolacci/murmur3"
	nsq "github.com/youzan/go-nsq"
)

type options struct {
	lookupds []string
	topic    string
	channel  string
	way      string
	tag      string
	body     string
	count    int
	keys     int
	handlers int
	requeue  int
	touch    int
	delay    time.Duration
	every    time.Duration
	deadline time.Duration
}

func readOptions(verb string, words []string) options {
	var given options
	var lookupds string
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&lookupds, "lookupd", "", "HTTP addresses of lookup servers, with commas")
	flags.StringVar(&given.topic, "topic", "", "")
	flags.StringVar(&given.channel, "channel", "", "")
	flags.StringVar(&given.way, "way", "plain", "how to publish or consume")
	flags.StringVar(&given.tag, "tag", "", "dispatch tag, or the tag desired")
	flags.StringVar(&given.body, "body", "body", "what every body starts with")
	flags.IntVar(&given.count, "count", 0, "so many messages; 0: until stdin is closed")
	flags.IntVar(&given.keys, "keys", 1, "so many sharding keys")
	flags.IntVar(&given.handlers, "handlers", 4, "so many messages at once")
	flags.IntVar(&given.requeue, "requeue", 0, "give back so many messages once")
	flags.IntVar(&given.touch, "touch", 0, "ask for more time for so many messages")
	flags.DurationVar(&given.delay, "delay", 0, "how long what is given back stays away at least")
	flags.DurationVar(&given.every, "every", 0, "pause between messages")
	flags.DurationVar(&given.deadline, "deadline", time.Minute, "")
	if err := flags.Parse(words); err != nil {
		refuse(err.Error())
	}
	if lookupds == "" || given.topic == "" || flags.NArg() > 0 {
		refuse("expected -lookupd and -topic and no further word")
	}
	given.lookupds = strings.Split(lookupds, ",")
	return given
}

// configure keeps the client's own defaults except for its pace, a refresh each second, so that no
// scenario waits a minute for it, and for the partition: one after the other, where the default
// takes the one that answers fastest.
func configure(given options) *nsq.Config {
	config := nsq.NewConfig()
	config.LookupdPollInterval = time.Second
	config.LookupdPollJitter = 0
	config.PubTimeout = 5 * time.Second
	config.PubStrategy = int(nsq.PubRR)
	config.Hasher = murmur3.New32()
	config.HeartbeatInterval = time.Second
	return config
}

func logger() *log.Logger {
	return log.New(os.Stderr, "", log.Lmicroseconds)
}
