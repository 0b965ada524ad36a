package wireproof.adapter.rocketmq;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A consumer of one topic, in a group of its own. It pulls the queues itself: between two calls of
 * receive it takes nothing, and no assignment of queues has to be waited for.
 */
final class NativeConsumer {
    private static final long PAUSE_MS = 5;
    private static final int SHORTEST_DELAY = 1; // of the broker's levels: a second

    private final DefaultMQPullConsumer consumer;
    private final String group;
    private final Map<MessageQueue, Long> offsets = new LinkedHashMap<>();

    @SuppressWarnings("deprecation") // the other consumers assign the queues, which takes seconds
    NativeConsumer(String nameServer, String topic, String group) throws Exception {
        this.group = group;
        consumer = new DefaultMQPullConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.start();
        for (MessageQueue queue : consumer.fetchSubscribeMessageQueues(topic)) {
            offsets.put(queue, consumer.maxOffset(queue));
        }
    }

    synchronized List<MessageExt> receive(int most, long timeout) throws Exception {
        long deadline = System.nanoTime() + timeout * 1_000_000;
        List<MessageExt> found = pull(most);
        while (found.isEmpty() && System.nanoTime() < deadline) {
            wait(PAUSE_MS);
            found = pull(most);
        }
        return found;
    }

    synchronized void settle(MessageExt message, boolean isConsumed) throws Exception {
        if (!isConsumed) {
            consumer.sendMessageBack(message, SHORTEST_DELAY, Server.BROKER, group);
            offsets.putIfAbsent(new MessageQueue(MixAll.getRetryTopic(group), Server.BROKER, 0), 0L);
        }
        MessageQueue queue = new MessageQueue(message.getTopic(), Server.BROKER, message.getQueueId());
        consumer.updateConsumeOffset(queue, message.getQueueOffset() + 1);
    }

    private List<MessageExt> pull(int most) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        for (Map.Entry<MessageQueue, Long> each : offsets.entrySet()) {
            if (found.size() < most) {
                PullResult result = consumer.pull(each.getKey(), "*", each.getValue(), most - found.size());
                each.setValue(result.getNextBeginOffset());
                if (result.getPullStatus() == PullStatus.FOUND) {
                    found.addAll(result.getMsgFoundList());
                }
            }
        }
        return found;
    }
}
