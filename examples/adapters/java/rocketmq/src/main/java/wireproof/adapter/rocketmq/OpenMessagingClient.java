package wireproof.adapter.rocketmq;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.openmessaging.BytesMessage;
import io.openmessaging.KeyValue;
import io.openmessaging.Message;
import io.openmessaging.Message.BuiltinKeys;
import io.openmessaging.MessagingAccessPoint;
import io.openmessaging.OMS;
import io.openmessaging.OMSBuiltinKeys;
import io.openmessaging.consumer.PullConsumer;
import io.openmessaging.exception.OMSRuntimeException;
import io.openmessaging.producer.Producer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import wireproof.adapter.Operation;
import wireproof.adapter.Refused;
import wireproof.adapter.Unsupported;

/**
 * RocketMQ's OpenMessaging driver, `oms:rocketmq://…`. Its interface is openmessaging-api
 * 0.3.1-alpha, whose built-in keys became the extension header: START_TIME (absolute) is
 * bornTimestamp + delayTime, STOP_TIME (absolute) and TIMEOUT (from birth) are both expireTime.
 */
final class OpenMessagingClient implements Main.Client {
    private record Delivery(PullConsumer consumer, String handle) {}

    private static final String PROBE = "wireproof-probe";
    private static final int PROBE_AGAIN_MS = 500;
    private static final int PROBES = 60;
    private static final int MOST_CONSUMERS = 32;
    private static final int AT_MOST_MS = 1; // the driver waits for ever if it is told 0

    private final Topics topics;
    private final MessagingAccessPoint point;
    private final Producer producer;
    private final Map<String, PullConsumer> consumers = new ConcurrentHashMap<>();
    private final Queue<String> names = new ConcurrentLinkedQueue<>();
    private final ExecutorService threads = Executors.newSingleThreadExecutor();
    private final Map<String, Delivery> deliveries = new ConcurrentHashMap<>();
    private final AtomicLong receipts = new AtomicLong();

    OpenMessagingClient(Topics topics) {
        if (!"true".equalsIgnoreCase(System.getenv("OMS_RMQ_DIRECT_NAME_SRV"))) {
            throw new IllegalStateException("set OMS_RMQ_DIRECT_NAME_SRV=true: the driver needs it to find the server");
        }
        this.topics = topics;
        point = OMS.getMessagingAccessPoint("oms:rocketmq://" + topics.nameServer() + "/default:default");
        producer = point.createProducer();
        producer.startup();
    }

    @Override
    public List<String> claims() {
        return List.of("storeTimestamp", "storeHost", "delayTime", "expireTime", "traceId", "priority");
    }

    @Override
    public Map<String, Operation> operations() {
        Map<String, Operation> operations = new LinkedHashMap<>();
        operations.put("create_destination", this::create);
        operations.put("send", this::send);
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

    /** With one queue, so that messages do not overtake each other; the driver creates no queues. */
    private JsonObject create(JsonObject request) throws Exception {
        Unsupported.refuse(request, "partitions");
        return topics.create(request, 1);
    }

    private JsonObject send(JsonObject request) {
        Unsupported.refuse(request, "hold_ms");
        JsonObject parts = Documents.parts(request);
        BytesMessage message = producer.createBytesMessage(Documents.destination(parts), Documents.body(parts));
        parts.getAsJsonObject("header").entrySet().forEach(each -> header(message, each));
        if (parts.has("extensionHeader")) {
            parts.getAsJsonObject("extensionHeader").entrySet().forEach(each -> attribute(message, each));
        }
        Documents.properties(parts).forEach(message::putUserHeaders);
        producer.send(message);
        return document(message);
    }

    private static void header(Message to, Map.Entry<String, JsonElement> each) {
        JsonElement value = each.getValue();
        switch (each.getKey()) {
            case "destination" -> { }
            case "messageId" -> to.putSysHeaders(BuiltinKeys.MESSAGE_ID, value.getAsString());
            case "bornTimestamp" -> to.putSysHeaders(BuiltinKeys.BORN_TIMESTAMP, longOf(value));
            case "bornHost" -> to.putSysHeaders(BuiltinKeys.BORN_HOST, value.getAsString());
            default -> throw new Unsupported(each.getKey());
        }
    }

    private static void attribute(Message to, Map.Entry<String, JsonElement> each) {
        JsonElement value = each.getValue();
        switch (each.getKey()) {
            case "storeTimestamp" -> to.putSysHeaders(BuiltinKeys.STORE_TIMESTAMP, longOf(value));
            case "storeHost" -> to.putSysHeaders(BuiltinKeys.STORE_HOST, value.getAsString());
            case "traceId" -> to.putSysHeaders(BuiltinKeys.TRACE_ID, value.getAsString());
            case "priority" -> to.putSysHeaders(BuiltinKeys.PRIORITY, value.getAsBigInteger().intValueExact());
            case "delayTime" -> to.putSysHeaders(BuiltinKeys.START_TIME, later(longOf(value)));
            case "expireTime" -> expire(to, longOf(value));
            default -> throw new Unsupported(each.getKey());
        }
    }

    private static void expire(Message to, long expireTime) {
        to.putSysHeaders(BuiltinKeys.STOP_TIME, expireTime);
        long life = expireTime - System.currentTimeMillis();
        if (life > 0) {
            to.putSysHeaders(BuiltinKeys.TIMEOUT, life);
        }
    }

    private static long later(long delay) {
        long now = System.currentTimeMillis();
        return delay > Long.MAX_VALUE - now ? Long.MAX_VALUE : now + delay;
    }

    private static long longOf(JsonElement value) {
        return value.getAsBigInteger().longValueExact();
    }

    private JsonObject receive(JsonObject request) {
        PullConsumer consumer = consumer(
                request.get("destination").getAsString(), request.get("group").getAsString());
        Message message = receive(consumer, request.get("timeout_ms").getAsLong());
        JsonArray messages = new JsonArray();
        if (message != null) {
            String receipt = String.valueOf(receipts.incrementAndGet());
            deliveries.put(receipt, new Delivery(consumer, message.sysHeaders().getString(BuiltinKeys.MESSAGE_ID)));
            JsonObject delivery = document(message);
            delivery.addProperty("receipt", receipt);
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
        delivery.consumer.ack(delivery.handle);
        return new JsonObject();
    }

    private static Message receive(PullConsumer consumer, long timeout) {
        KeyValue within = OMS.newKeyValue().put("TIMEOUT", (int) Math.max(timeout, AT_MOST_MS));
        return consumer.receive(within);
    }

    private PullConsumer consumer(String destination, String group) {
        return consumers.computeIfAbsent(destination + "-" + group, name -> {
            PullConsumer consumer = point.createPullConsumer(OMS.newKeyValue().put(OMSBuiltinKeys.CONSUMER_ID, name));
            consumer.attachQueue(destination);
            consumer.startup();
            begin(consumer, destination);
            retire(name);
            return consumer;
        });
    }

    /** Each consumer of the driver has threads and connections of its own: old ones are ended. */
    private void retire(String newest) {
        names.add(newest);
        while (names.size() > MOST_CONSUMERS) {
            String oldest = names.poll();
            threads.submit(() -> consumers.remove(oldest).shutdown());
        }
    }

    /**
     * The driver takes what was sent after its queues have been assigned, and does not say when that
     * is. So messages of the adapter's own are sent until one of them arrives.
     */
    private void begin(PullConsumer consumer, String destination) {
        int sent = 0;
        int arrived = 0;
        while (arrived == 0 && sent < PROBES) {
            producer.send(producer.createBytesMessage(destination, PROBE.getBytes(StandardCharsets.UTF_8)));
            sent++;
            arrived += drain(consumer, PROBE_AGAIN_MS);
        }
        if (arrived == 0) {
            throw new IllegalStateException("the driver's consumer got no message of " + destination);
        }
        drain(consumer, PROBE_AGAIN_MS);
    }

    private static int drain(PullConsumer consumer, int within) {
        int arrived = 0;
        for (Message got = receive(consumer, within); got != null; got = receive(consumer, AT_MOST_MS)) {
            consumer.ack(got.sysHeaders().getString(BuiltinKeys.MESSAGE_ID));
            arrived++;
        }
        return arrived;
    }

    private static JsonObject document(Message message) {
        KeyValue from = message.sysHeaders();
        JsonObject header = new JsonObject();
        Documents.text(header, "messageId", from.getString(BuiltinKeys.MESSAGE_ID));
        Documents.text(header, "destination", from.getString(BuiltinKeys.DESTINATION));
        Documents.text(header, "bornHost", from.getString(BuiltinKeys.BORN_HOST));
        number(header, "bornTimestamp", from, BuiltinKeys.BORN_TIMESTAMP);
        JsonObject extension = new JsonObject();
        Documents.text(extension, "storeHost", from.getString(BuiltinKeys.STORE_HOST));
        Documents.text(extension, "traceId", from.getString(BuiltinKeys.TRACE_ID));
        number(extension, "storeTimestamp", from, BuiltinKeys.STORE_TIMESTAMP);
        number(extension, "priority", from, BuiltinKeys.PRIORITY);
        number(extension, "expireTime", from, BuiltinKeys.STOP_TIME);
        if (from.containsKey(BuiltinKeys.START_TIME) && from.containsKey(BuiltinKeys.BORN_TIMESTAMP)) {
            long born = from.getLong(BuiltinKeys.BORN_TIMESTAMP);
            extension.addProperty("delayTime", from.getLong(BuiltinKeys.START_TIME) - born);
        }
        Map<String, String> properties = new TreeMap<>();
        message.userHeaders().keySet().forEach(name -> properties.put(name, message.userHeaders().getString(name)));
        return Documents.answer(header, extension, properties, message.getBody(byte[].class));
    }

    private static void number(JsonObject to, String name, KeyValue from, String key) {
        if (from.containsKey(key)) {
            to.addProperty(name, from.getLong(key));
        }
    }
}
