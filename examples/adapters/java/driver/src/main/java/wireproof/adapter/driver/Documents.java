package wireproof.adapter.driver;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.openmessaging.KeyValue;
import io.openmessaging.extension.ExtensionHeader;
import io.openmessaging.message.Header;
import io.openmessaging.message.Message;
import io.openmessaging.message.MessageFactory;
import java.math.BigInteger;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import wireproof.adapter.Unsupported;

/**
 * Messages as documents, and back. Nothing is dropped or cut to a narrower type without a word: the
 * kit would charge it to the system. Where the interface cannot tell "not set" from 0 or null, 0 and
 * null count as not set; a partition and a deliveryCount are always told.
 */
final class Documents {
    private static final String PRIORITY = "priority";
    private static final String TRANSACTION_ID = "transactionId";

    private Documents() {}

    static Message read(JsonObject document, MessageFactory factory) {
        JsonObject parts = document.getAsJsonObject("message");
        JsonObject header = parts.getAsJsonObject("header");
        byte[] data = parts.has("data") ? Base64.getDecoder().decode(parts.get("data").getAsString()) : new byte[0];
        Message message = factory.createMessage(header.get("destination").getAsString(), data);
        readHeader(header, message.header());
        if (parts.has("properties")) {
            parts.getAsJsonObject("properties").entrySet()
                    .forEach(each -> property(message.properties(), each.getKey(), each.getValue()));
        }
        if (parts.has("extensionHeader")) {
            readExtension(parts.getAsJsonObject("extensionHeader"), message);
        }
        return message;
    }

    static JsonObject write(Message message, boolean isReceived) {
        JsonObject parts = new JsonObject();
        parts.addProperty("version", "1.0.0-alpha");
        parts.add("header", writeHeader(message.header()));
        parts.add("extensionHeader", writeExtension(message, isReceived));
        parts.add("properties", writeProperties(message.properties()));
        if (message.getData() != null) {
            parts.addProperty("data", Base64.getEncoder().encodeToString(message.getData()));
        }
        JsonObject document = new JsonObject();
        document.add("message", parts);
        return document;
    }

    static String transactionId(JsonObject document) {
        return extension(document).get(TRANSACTION_ID).getAsString();
    }

    static void setTransactionId(JsonObject document, String id) {
        text(extension(document), TRANSACTION_ID, id);
    }

    private static JsonObject extension(JsonObject document) {
        return document.getAsJsonObject("message").getAsJsonObject("extensionHeader");
    }

    private static void readHeader(JsonObject from, Header header) {
        for (Map.Entry<String, JsonElement> each : from.entrySet()) {
            JsonElement value = each.getValue();
            switch (each.getKey()) {
                case "destination" -> { }
                case "messageId" -> header.setMessageId(value.getAsString());
                case "bornTimestamp" -> header.setBornTimestamp(whole(each).longValueExact());
                case "bornHost" -> header.setBornHost(value.getAsString());
                // The interface has a short here for a String there, and no qos at all.
                default -> throw new Unsupported(each.getKey());
            }
        }
    }

    private static void readExtension(JsonObject from, Message message) {
        Optional<ExtensionHeader> found = message.extensionHeader();
        for (Map.Entry<String, JsonElement> each : from.entrySet()) {
            if (each.getKey().equals(PRIORITY)) {
                message.header().setPriority(whole(each).shortValueExact());
            } else if (each.getKey().equals("deliveryCount")) {
                message.header().setDeliveryCount(whole(each).intValueExact());
            } else {
                attribute(found.orElseThrow(() -> new Unsupported("extensionHeader")), each);
            }
        }
    }

    private static void attribute(ExtensionHeader to, Map.Entry<String, JsonElement> each) {
        switch (each.getKey()) {
            case "storeTimestamp" -> to.setStoreTimestamp(whole(each).longValueExact());
            case "storeHost" -> to.setStoreHost(each.getValue().getAsString());
            case "correlationId" -> to.setCorrelationId(each.getValue().getAsString());
            case "messageKey" -> to.setMessageKey(each.getValue().getAsString());
            case "delayTime" -> to.setDelayTime(whole(each).longValueExact());
            case "expireTime" -> to.setExpireTime(whole(each).longValueExact());
            case "traceId" -> to.setTraceId(each.getValue().getAsString());
            case TRANSACTION_ID -> to.setTransactionId(each.getValue().getAsString());
            case "partition" -> to.setPartition(whole(each).intValueExact());
            default -> throw new Unsupported(each.getKey());
        }
    }

    private static JsonObject writeHeader(Header header) {
        JsonObject to = new JsonObject();
        text(to, "messageId", header.getMessageId());
        number(to, "bornTimestamp", header.getBornTimestamp());
        text(to, "bornHost", header.getBornHost());
        text(to, "destination", header.getDestination());
        return to;
    }

    private static JsonObject writeExtension(Message message, boolean isReceived) {
        JsonObject to = new JsonObject();
        number(to, PRIORITY, message.header().getPriority());
        if (isReceived) {
            to.addProperty("deliveryCount", message.header().getDeliveryCount());
        }
        message.extensionHeader().ifPresent(from -> {
            number(to, "storeTimestamp", from.getStoreTimestamp());
            text(to, "storeHost", from.getStoreHost());
            text(to, "correlationId", from.getCorrelationId());
            text(to, "messageKey", from.getMessageKey());
            number(to, "delayTime", from.getDelayTime());
            number(to, "expireTime", from.getExpireTime());
            text(to, "traceId", from.getTraceId());
            text(to, TRANSACTION_ID, from.getTransactionId());
            to.addProperty("partition", from.getPartiton()); // so misspelled in the interface
        });
        return to;
    }

    private static JsonObject writeProperties(KeyValue properties) {
        JsonObject to = new JsonObject();
        if (properties != null) {
            properties.keySet().forEach(name -> text(to, name, properties.getString(name)));
        }
        return to;
    }

    private static void property(KeyValue to, String name, JsonElement value) {
        JsonPrimitive primitive = value.getAsJsonPrimitive();
        if (!primitive.isString()) {
            throw new Unsupported(name); // read back, every property of this interface is a text
        }
        to.put(name, primitive.getAsString());
    }

    private static BigInteger whole(Map.Entry<String, JsonElement> each) {
        try {
            return each.getValue().getAsBigDecimal().toBigIntegerExact();
        } catch (ArithmeticException | NumberFormatException | UnsupportedOperationException wrong) {
            throw new IllegalArgumentException(
                    "expected a whole number as " + each.getKey() + ", found " + each.getValue());
        }
    }

    private static void text(JsonObject to, String name, String value) {
        if (value != null) {
            to.addProperty(name, value);
        }
    }

    private static void number(JsonObject to, String name, long value) {
        if (value != 0) {
            to.addProperty(name, value);
        }
    }
}
