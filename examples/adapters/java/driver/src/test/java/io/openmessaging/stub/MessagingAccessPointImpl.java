package io.openmessaging.stub;

import io.openmessaging.KeyValue;
import io.openmessaging.MessagingAccessPoint;
import io.openmessaging.OMS;
import io.openmessaging.consumer.Consumer;
import io.openmessaging.exception.OMSDestinationException;
import io.openmessaging.manager.ResourceManager;
import io.openmessaging.message.Message;
import io.openmessaging.message.MessageFactory;
import io.openmessaging.producer.Producer;
import io.openmessaging.producer.TransactionStateCheckListener;
import io.openmessaging.producer.TransactionalResult;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A driver for `oms:stub://host/region`: queues in memory. It sets what the server must set, and
 * does nothing about delays, expiry and priorities. The attribute GROUP names a group of consumers.
 */
public final class MessagingAccessPointImpl implements MessagingAccessPoint {
    /** By queue, then by group; a group begins with its first consumer. */
    private static final Map<String, Map<String, BlockingQueue<StubMessage>>> QUEUES = new ConcurrentHashMap<>();
    private static final AtomicLong IDS = new AtomicLong();

    private final KeyValue attributes;

    public MessagingAccessPointImpl(KeyValue attributes) {
        this.attributes = attributes;
    }

    @Override
    public String version() {
        return OMS.specVersion;
    }

    @Override
    public KeyValue attributes() {
        return attributes;
    }

    @Override
    public Producer createProducer() {
        return proxy(Producer.class, new StubProducer());
    }

    @Override
    public Producer createProducer(TransactionStateCheckListener listener) {
        return createProducer();
    }

    @Override
    public Consumer createConsumer() {
        return proxy(Consumer.class, new StubConsumer(attributes.getString("GROUP")));
    }

    @Override
    public ResourceManager resourceManager() {
        return proxy(ResourceManager.class, new StubManager());
    }

    @Override
    public MessageFactory messageFactory() {
        return StubMessage::new;
    }

    private static Map<String, BlockingQueue<StubMessage>> queue(String name) {
        Map<String, BlockingQueue<StubMessage>> found = QUEUES.get(name);
        if (found == null) {
            throw new OMSDestinationException(1404, "no queue is called " + name);
        }
        return found;
    }

    private static void store(StubMessage message) {
        message.storeTimestamp = System.currentTimeMillis();
        message.storeHost = "stub";
        message.deliveryCount = 1;
        queue(message.getDestination()).values().forEach(group -> group.add(message.copy()));
    }

    /** What the adapter does with a producer. */
    static final class StubProducer {
        public Message createMessage(String destination, byte[] data) {
            return new StubMessage(destination, data);
        }

        public StubResult send(Message message) {
            StubMessage sent = born(message);
            store(sent);
            return new StubResult(sent, false);
        }

        public TransactionalResult prepare(Message message) {
            return new StubResult(born(message), true);
        }

        private static StubMessage born(Message message) {
            StubMessage sent = (StubMessage) message;
            queue(sent.getDestination());
            sent.messageId = "stub-" + IDS.incrementAndGet();
            sent.bornTimestamp = System.currentTimeMillis();
            sent.bornHost = "stub-client";
            return sent;
        }
    }

    /** A message that was sent, or whose transaction is open. */
    record StubResult(StubMessage message, boolean isPrepared) implements TransactionalResult {
        @Override
        public String messageId() {
            return message.messageId;
        }

        @Override
        public String transactionId() {
            return message.transactionId;
        }

        @Override
        public void commit() {
            store(message);
        }

        @Override
        public void rollback() { }
    }

    /** What the adapter does with a consumer. */
    static final class StubConsumer {
        private final String group;
        private BlockingQueue<StubMessage> messages;

        StubConsumer(String group) {
            this.group = String.valueOf(group);
        }

        public void bindQueue(String name) {
            messages = queue(name).computeIfAbsent(group, ignored -> new LinkedBlockingQueue<>());
        }

        public Message receive(long timeout) throws InterruptedException {
            return messages.poll(timeout, TimeUnit.MILLISECONDS);
        }
    }

    /** What the adapter does with a resource manager. */
    static final class StubManager {
        public void createQueue(String name) {
            QUEUES.computeIfAbsent(name, ignored -> new ConcurrentHashMap<>());
        }

        public Set<String> listQueues(String namespace) {
            return QUEUES.keySet();
        }
    }

    /** Returns an interface whose methods are those of an object; the others do nothing. */
    private static <T> T proxy(Class<T> type, Object object) {
        List<Method> known = new ArrayList<>(List.of(object.getClass().getDeclaredMethods()));
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, asked, given) -> {
            for (Method each : known) {
                if (each.getName().equals(asked.getName())
                        && List.of(each.getParameterTypes()).equals(List.of(asked.getParameterTypes()))) {
                    try {
                        return each.invoke(object, given);
                    } catch (java.lang.reflect.InvocationTargetException failed) {
                        throw failed.getCause();
                    }
                }
            }
            return null;
        }));
    }
}
