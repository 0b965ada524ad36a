package wireproof;

import com.youzan.nsq.client.Consumer;
import com.youzan.nsq.client.ConsumerImplV2;
import com.youzan.nsq.client.MessageReceipt;
import com.youzan.nsq.client.Producer;
import com.youzan.nsq.client.ProducerImplV2;
import com.youzan.nsq.client.Version;
import com.youzan.nsq.client.entity.DesiredTag;
import com.youzan.nsq.client.entity.Message;
import com.youzan.nsq.client.entity.NSQConfig;
import com.youzan.nsq.client.entity.NSQMessage;
import com.youzan.nsq.client.entity.Topic;
import com.youzan.nsq.client.exception.NSQException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import wireproof.Driver.Request;

/** A driver of youzan/nsqJavaSDK for `wireproof client`. */
public final class NsqJavaSdk {
    private Request settings;
    private Producer producer;
    private Consumer consumer;

    private Map<String, ?> open(Request request) {
        settings = request.object("settings");
        // The interval of /listlookup; that of /lookup is 20 s, a constant of the library.
        NSQConfig.setListLookupIntervalInSecond(settings.number("lookup_interval_ms") / 1000);
        return Map.of();
    }

    private NSQConfig config() {
        return new NSQConfig()
                .setLookupAddresses(String.join(",", settings.texts("lookupd")))
                .setQueryTimeoutInMillisecond(settings.number("publish_timeout_ms"));
    }

    private Map<String, ?> produce(Request request) throws NSQException {
        if (producer == null) {
            producer = new ProducerImplV2(config());
            producer.start();
        }
        Message message = Message.create(new Topic(request.text("topic")), request.bytes("body"));
        if (request.has("key")) {
            String key = request.text("key");
            message.setTopicShardingIDString(key.isEmpty() ? null : key);
        }
        if (request.has("ext")) {
            message.setJsonHeaderExt(request.object("ext").members());
        }
        if (request.has("tag")) {
            message.setDesiredTag(new DesiredTag(request.text("tag")));
        }
        if (request.has("trace_id")) {
            logTraces();
            message.traced().setTraceID(Long.parseUnsignedLong(request.text("trace_id")));
        }
        MessageReceipt receipt = producer.publishAndGetReceipt(message);
        return request.has("trace_id") ? told(receipt) : Map.of();
    }

    private static Map<String, ?> told(MessageReceipt receipt) {
        return Map.of(
                "internal_id", Driver.wide(receipt.getInternalID()),
                "trace_id", Driver.wide(receipt.getTraceID()),
                "offset", Driver.wide(receipt.getDiskQueueOffset()),
                "size", Integer.toUnsignedLong(receipt.getDiskQueueSize()));
    }

    private Map<String, ?> consume(Request request) throws NSQException {
        request.refuse("max_in_flight"); // RDY is set for each connection, never for all
        if (request.is("trace")) {
            logTraces();
        }
        NSQConfig config = config().setConsumerName(request.text("channel")).setOrdered(request.is("ordered"));
        config.setNextConsumingInSeconds(1);
        if (request.has("tag")) {
            config.setConsumerDesiredTag(new DesiredTag(request.text("tag")));
        }
        if (request.has("msg_timeout_ms")) {
            config.setMsgTimeoutInMillisecond(request.number("msg_timeout_ms"));
        }
        consumer = new ConsumerImplV2(config, message -> handle(request, message));
        consumer.subscribe(request.text("topic"));
        consumer.start();
        return Map.of();
    }

    private static void handle(Request request, NSQMessage message) {
        Driver.say(told(request, message));
        try {
            switch (request.text("handler")) {
                case "fail" -> throw new IllegalStateException("the handler fails");
                case "touch" -> message.touch();
                case "hold" -> Thread.sleep(request.number("hold_ms"));
                default -> { }
            }
        } catch (NSQException | InterruptedException failed) {
            throw new IllegalStateException(failed);
        }
    }

    private static Map<String, Object> told(Request request, NSQMessage message) {
        Map<String, Object> event = Driver.message(
                request,
                message.getMessageID(),
                message.getMessageBody(),
                message.getReadableAttempts(),
                ByteBuffer.wrap(message.getTimestamp()).getLong());
        if (request.is("ordered")) {
            event.put("offset", Driver.wide(message.getDiskQueueOffset()));
            event.put("size", Integer.toUnsignedLong(message.getDiskQueueDataSize()));
        }
        if (message.getJsonExtHeader() != null) {
            event.put("ext", message.getJsonExtHeader());
        }
        if (message.getTag() != null) {
            event.put("tag", message.getTag().getTagName());
        }
        return event;
    }

    /** Lets the library log traces, which it does at level debug; it must not have logged one yet. */
    private static void logTraces() {
        System.setProperty("org.slf4j.simpleLogger.log.nsq.sdk.message.trace", "debug");
    }

    private Map<String, ?> close(Request request) throws Exception {
        if (consumer != null) {
            consumer.close();
        }
        if (producer != null) {
            producer.close();
        }
        return Map.of();
    }

    public static void main(String[] arguments) throws Exception {
        NsqJavaSdk client = new NsqJavaSdk();
        Driver.serve("youzan/nsqJavaSDK", Version.VERSION, List.of("key", "ext", "trace", "order"), Map.of(
                "open", client::open,
                "produce", client::produce,
                "consume", client::consume,
                "close", client::close));
    }
}
