package wireproof.adapter.rocketmq;

import com.google.gson.JsonObject;
import java.util.Set;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Creates topics. Neither client can: it is a matter of RocketMQ's administration. */
final class Topics {
    private static final long ROUTE_WITHIN_MS = 8_000;
    private static final long PAUSE_MS = 10;

    private final String nameServer;
    private final DefaultMQAdminExt admin = new DefaultMQAdminExt();

    Topics(String nameServer) throws Exception {
        this.nameServer = nameServer;
        admin.setNamesrvAddr(nameServer);
        admin.start();
    }

    String nameServer() {
        return nameServer;
    }

    JsonObject create(JsonObject request, int queues) throws Exception {
        String name = request.get("destination").getAsString();
        for (String broker : addresses()) {
            admin.createAndUpdateTopicConfig(broker, new TopicConfig(name, queues, queues));
        }
        awaitRoute(name);
        return new JsonObject();
    }

    /** The broker tells the name server of a new topic when it has answered already. */
    private void awaitRoute(String topic) throws Exception {
        long deadline = System.nanoTime() + ROUTE_WITHIN_MS * 1_000_000;
        while (true) {
            try {
                admin.examineTopicRouteInfo(topic);
                return;
            } catch (MQClientException unknown) {
                if (System.nanoTime() > deadline) {
                    throw unknown;
                }
                Thread.sleep(PAUSE_MS);
            }
        }
    }

    private Set<String> addresses() throws Exception {
        return Set.of(admin.examineBrokerClusterInfo().getBrokerAddrTable().get(Server.BROKER).selectBrokerAddr());
    }
}
