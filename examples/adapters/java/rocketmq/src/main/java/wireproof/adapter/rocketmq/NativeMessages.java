package wireproof.adapter.rocketmq;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import wireproof.adapter.Unsupported;

/**
 * Messages of the native client as documents, and back. RocketMQ has a place of its own for all but
 * the traceId, which travels as a property of a name that no user has. What is set by the server alone
 * cannot be set there.
 */
final class NativeMessages {
    private static final String TRACE_ID = "openmessaging.traceId";

    private NativeMessages() {}

    static Message read(JsonObject parts) {
        JsonObject header = parts.getAsJsonObject("header");
        for (String name : header.keySet()) {
            switch (name) {
                case "destination", "messageId", "bornTimestamp", "bornHost" -> { }
                default -> throw new Unsupported(name); // no qos; the client compresses by itself
            }
        }
        Message message = new Message(Documents.destination(parts), Documents.body(parts));
        if (parts.has("extensionHeader")) {
            parts.getAsJsonObject("extensionHeader").entrySet().forEach(each -> attribute(message, each));
        }
        Documents.properties(parts).forEach(message::putUserProperty);
        return message;
    }

    private static void attribute(Message to, Map.Entry<String, JsonElement> each) {
        JsonElement value = each.getValue();
        switch (each.getKey()) {
            // The client's message has no setter for these: a sender cannot tell them.
            case "storeTimestamp", "storeHost", "deliveryCount" -> { }
            case "partition" -> { } // goes with the call of send
            case "correlationId" -> put(to, MessageConst.PROPERTY_CORRELATION_ID, value);
            case "messageKey" -> put(to, MessageConst.PROPERTY_SHARDING_KEY, value);
            case "traceId" -> to.putUserProperty(TRACE_ID, value.getAsString());
            case "transactionId" -> to.setTransactionId(value.getAsString());
            case "delayTime" -> to.setDelayTimeMs(value.getAsBigInteger().longValueExact());
            case "priority" -> to.setPriority(value.getAsBigInteger().intValueExact());
            default -> throw new Unsupported(each.getKey());
        }
    }

    private static void put(Message to, String property, JsonElement value) {
        MessageAccessor.putProperty(to, property, value.getAsString());
    }

    static Integer partition(JsonObject parts) {
        JsonObject extension = parts.getAsJsonObject("extensionHeader");
        boolean isSet = extension != null && extension.has("partition");
        return isSet ? extension.get("partition").getAsBigInteger().intValueExact() : null;
    }

    static String group(Message message) {
        return message.getProperty(MessageConst.PROPERTY_SHARDING_KEY);
    }

    static JsonObject sent(Message message, String id) {
        return Documents.answer(header(message, id), extension(message), Map.of(), message.getBody());
    }

    static JsonObject received(MessageExt message) {
        JsonObject header = header(message, message.getMsgId());
        header.addProperty("bornTimestamp", message.getBornTimestamp());
        header.addProperty("bornHost", String.valueOf(message.getBornHost()));
        String origin = message.getProperty(MessageConst.PROPERTY_RETRY_TOPIC);
        if (origin != null) { // the push consumer of the client restores it, too
            header.addProperty("destination", origin);
        }
        JsonObject extension = extension(message);
        extension.addProperty("storeTimestamp", message.getStoreTimestamp());
        extension.addProperty("storeHost", String.valueOf(message.getStoreHost()));
        extension.addProperty("deliveryCount", message.getReconsumeTimes());
        extension.addProperty("partition", message.getQueueId());
        Map<String, String> properties = new TreeMap<>(message.getProperties());
        properties.keySet().removeAll(MessageConst.STRING_HASH_SET);
        properties.keySet().removeIf(name -> name.startsWith("__")); // such as __SHARDINGKEY
        properties.remove(TRACE_ID);
        return Documents.answer(header, extension, properties, message.getBody());
    }

    private static JsonObject header(Message message, String id) {
        JsonObject header = new JsonObject();
        header.addProperty("messageId", id);
        header.addProperty("destination", message.getTopic());
        return header;
    }

    private static JsonObject extension(Message message) {
        JsonObject to = new JsonObject();
        Documents.text(to, "correlationId", message.getProperty(MessageConst.PROPERTY_CORRELATION_ID));
        Documents.text(to, "messageKey", group(message));
        Documents.text(to, "traceId", message.getProperty(TRACE_ID));
        Documents.text(to, "transactionId", message.getTransactionId());
        if (message.getProperty(MessageConst.PROPERTY_TIMER_DELAY_MS) != null) {
            to.addProperty("delayTime", message.getDelayTimeMs());
        }
        if (message.getProperty(MessageConst.PROPERTY_PRIORITY) != null) {
            to.addProperty("priority", message.getPriority());
        }
        return to;
    }
}
