package wireproof.adapter.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.openmessaging.KeyValue;
import io.openmessaging.MessagingAccessPoint;
import io.openmessaging.OMS;
import io.openmessaging.consumer.Consumer;
import io.openmessaging.consumer.MessageReceipt;
import io.openmessaging.exception.OMSRuntimeException;
import io.openmessaging.exception.OMSTimeOutException;
import io.openmessaging.message.Message;
import io.openmessaging.producer.Producer;
import io.openmessaging.producer.TransactionalResult;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import wireproof.adapter.Operation;
import wireproof.adapter.Refused;
import wireproof.adapter.Unsupported;

/** The system under test, reached through the driver that an `oms:` URL names. */
final class Broker {
    private record Delivery(Consumer consumer, MessageReceipt receipt) {}

    private final String url;
    private final String groupKey;
    private final MessagingAccessPoint point;
    private final Producer producer;
    private final Map<String, Consumer> consumers = new ConcurrentHashMap<>();
    private final Map<String, Delivery> deliveries = new ConcurrentHashMap<>();
    private final Map<String, TransactionalResult> transactions = new ConcurrentHashMap<>();
    private final AtomicLong receipts = new AtomicLong();

    /** `groupKey` is the attribute by which the driver takes the name of a group of consumers. */
    Broker(String url, String groupKey) {
        this.url = url;
        this.groupKey = groupKey;
        point = OMS.getMessagingAccessPoint(url);
        producer = point.createProducer();
        producer.start();
    }

    String name() {
        return url.substring(0, url.indexOf("://"));
    }

    String version() {
        return point.version();
    }

    /** Returns what this adapter can do, by the names of the adapter protocol. */
    Map<String, Operation> operations() {
        Map<String, Operation> operations = new LinkedHashMap<>();
        operations.put("create_destination", this::create);
        operations.put("send", this::send);
        operations.put("prepare", this::prepare);
        operations.put("commit", request -> end(request, true));
        operations.put("rollback", request -> end(request, false));
        operations.put("receive", this::receive);
        operations.put("ack", this::acknowledge);
        operations.replaceAll((name, operation) -> request -> withCode(operation, request));
        return operations;
    }

    private static JsonObject withCode(Operation operation, JsonObject request) throws Exception {
        try {
            return operation.carryOut(request);
        } catch (OMSRuntimeException refused) {
            throw new Refused(String.valueOf(refused.getErrorCode()), refused);
        }
    }

    private JsonObject create(JsonObject request) {
        Unsupported.refuse(request, "partitions");
        point.resourceManager().createQueue(request.get("destination").getAsString());
        return new JsonObject();
    }

    private JsonObject send(JsonObject request) {
        Unsupported.refuse(request, "hold_ms");
        Message message = Documents.read(request.getAsJsonObject("message"), producer);
        String id = producer.send(message).messageId();
        return sent(message, id);
    }

    private JsonObject prepare(JsonObject request) {
        JsonObject document = request.getAsJsonObject("message");
        Message message = Documents.read(document, producer);
        TransactionalResult result = producer.prepare(message);
        transactions.put(Documents.transactionId(document), result);
        JsonObject answer = sent(message, result.messageId());
        Documents.setTransactionId(answer.getAsJsonObject("message"), result.transactionId());
        return answer;
    }

    private JsonObject end(JsonObject request, boolean commits) {
        String id = request.get("transactionId").getAsString();
        TransactionalResult result = transactions.remove(id);
        if (result == null) {
            throw new IllegalArgumentException("expected an open transaction, found " + id);
        }
        if (commits) {
            result.commit();
        } else {
            result.rollback();
        }
        JsonObject answer = new JsonObject();
        answer.addProperty("transactionId", result.transactionId());
        return answer;
    }

    /** A consumer of this interface gives one message at a time, however many were asked for. */
    private JsonObject receive(JsonObject request) {
        Consumer consumer = consumer(
                request.get("destination").getAsString(), request.get("group").getAsString());
        Message message;
        synchronized (consumer) {
            message = receive(consumer, request.get("timeout_ms").getAsLong());
        }
        JsonArray messages = new JsonArray();
        if (message != null) {
            String receipt = String.valueOf(receipts.incrementAndGet());
            deliveries.put(receipt, new Delivery(consumer, message.getMessageReceipt()));
            JsonObject delivery = new JsonObject();
            delivery.addProperty("receipt", receipt);
            delivery.add("message", Documents.write(message, true));
            messages.add(delivery);
        }
        JsonObject answer = new JsonObject();
        answer.add("messages", messages);
        return answer;
    }

    private JsonObject acknowledge(JsonObject request) {
        String receipt = request.get("receipt").getAsString();
        Delivery delivery = deliveries.remove(receipt);
        if (delivery == null) {
            throw new IllegalArgumentException("expected an open receipt, found " + receipt);
        }
        delivery.consumer.ack(delivery.receipt);
        return new JsonObject();
    }

    void close() {
        consumers.values().forEach(Consumer::stop);
        producer.stop();
    }

    private static Message receive(Consumer consumer, long timeout) {
        try {
            return consumer.receive(timeout);
        } catch (OMSTimeOutException nothing) {
            return null;
        }
    }

    private static JsonObject sent(Message message, String id) {
        JsonObject document = Documents.write(message, false);
        document.getAsJsonObject("message").getAsJsonObject("header").addProperty("messageId", id);
        JsonObject answer = new JsonObject();
        answer.add("message", document);
        return answer;
    }

    private Consumer consumer(String destination, String group) {
        return consumers.computeIfAbsent(destination + "\n" + group, ignored -> {
            KeyValue attributes = OMS.newKeyValue();
            if (!groupKey.isEmpty()) {
                attributes.put(groupKey, group);
            }
            Consumer consumer = OMS.getMessagingAccessPoint(url, attributes).createConsumer();
            consumer.bindQueue(destination);
            consumer.start();
            return consumer;
        });
    }
}
