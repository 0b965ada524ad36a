package wireproof.adapter.rocketmq;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import wireproof.adapter.Operation;
import wireproof.adapter.Refused;
import wireproof.adapter.Unsupported;

/** RocketMQ's own client. It has no expiry of a message, so none is claimed. */
final class NativeClient implements Main.Client {
    private record Delivery(NativeConsumer consumer, MessageExt message) {}

    private static final int QUEUES = 4;

    private final Topics topics;
    private final DefaultMQProducer producer = new DefaultMQProducer("wireproof-producer");
    private final NativeTransactions transactions;
    private final Map<String, NativeConsumer> consumers = new ConcurrentHashMap<>();
    private final Map<String, Delivery> deliveries = new ConcurrentHashMap<>();
    private final AtomicLong receipts = new AtomicLong();

    NativeClient(Topics topics) throws MQClientException {
        this.topics = topics;
        producer.setNamesrvAddr(topics.nameServer());
        producer.start();
        transactions = new NativeTransactions(topics.nameServer());
    }

    @Override
    public List<String> claims() {
        return List.of(
                "storeTimestamp", "storeHost", "correlationId", "messageKey", "delayTime", "traceId",
                "transactionId", "deliveryCount", "priority", "partition", "partitions", "transaction", "nack");
    }

    @Override
    public Map<String, Operation> operations() {
        Map<String, Operation> operations = new LinkedHashMap<>();
        operations.put("create_destination", this::create);
        operations.put("send", this::send);
        operations.put("prepare", this::prepare);
        operations.put("commit", request -> transactions.end(request, true));
        operations.put("rollback", request -> transactions.end(request, false));
        operations.put("receive", this::receive);
        operations.put("ack", request -> settle(request, true));
        operations.put("nack", request -> settle(request, false));
        operations.put("clock", NativeClient::clock);
        operations.replaceAll((name, operation) -> request -> withCode(operation, request));
        return operations;
    }

    private static JsonObject withCode(Operation operation, JsonObject request) throws Exception {
        try {
            return operation.carryOut(request);
        } catch (MQBrokerException refused) {
            throw new Refused(String.valueOf(refused.getResponseCode()), refused);
        } catch (MQClientException refused) {
            throw new Refused(String.valueOf(refused.getResponseCode()), refused);
        }
    }

    private JsonObject create(JsonObject request) throws Exception {
        return topics.create(request, request.has("partitions") ? request.get("partitions").getAsInt() : QUEUES);
    }

    private JsonObject send(JsonObject request) throws Exception {
        Unsupported.refuse(request, "hold_ms");
        JsonObject parts = Documents.parts(request);
        Message message = NativeMessages.read(parts);
        Integer queue = NativeMessages.partition(parts);
        String group = NativeMessages.group(message);
        SendResult result;
        if (queue != null) {
            result = producer.send(message, new MessageQueue(message.getTopic(), Server.BROKER, queue));
        } else if (group != null) {
            result = producer.send(message, new SelectMessageQueueByHash(), group);
        } else {
            result = producer.send(message);
        }
        return NativeMessages.sent(message, result.getMsgId());
    }

    private JsonObject prepare(JsonObject request) throws Exception {
        Message message = NativeMessages.read(Documents.parts(request));
        SendResult result = transactions.prepare(message);
        return NativeMessages.sent(message, result.getMsgId());
    }

    private JsonObject receive(JsonObject request) throws Exception {
        String destination = request.get("destination").getAsString();
        String group = destination + "-" + request.get("group").getAsString();
        NativeConsumer consumer;
        synchronized (consumers) {
            consumer = consumers.get(group);
            if (consumer == null) {
                consumer = new NativeConsumer(topics.nameServer(), destination, group);
                consumers.put(group, consumer);
            }
        }
        JsonArray messages = new JsonArray();
        for (MessageExt each : consumer.receive(request.get("max").getAsInt(), request.get("timeout_ms").getAsLong())) {
            String receipt = String.valueOf(receipts.incrementAndGet());
            deliveries.put(receipt, new Delivery(consumer, each));
            JsonObject delivery = NativeMessages.received(each);
            delivery.addProperty("receipt", receipt);
            delivery.addProperty("partition", each.getQueueId());
            messages.add(delivery);
        }
        JsonObject answer = new JsonObject();
        answer.add("messages", messages);
        return answer;
    }

    private JsonObject settle(JsonObject request, boolean isConsumed) throws Exception {
        String receipt = request.get("receipt").getAsString();
        Delivery delivery = deliveries.remove(receipt);
        if (delivery == null) {
            throw new IllegalArgumentException("expected an open receipt, found " + receipt);
        }
        delivery.consumer.settle(delivery.message, isConsumed);
        return new JsonObject();
    }

    /** The server runs in this process. */
    private static JsonObject clock(JsonObject request) {
        Unsupported.refuse(request, "advance_ms");
        JsonObject answer = new JsonObject();
        answer.addProperty("now_ms", System.currentTimeMillis());
        return answer;
    }
}
