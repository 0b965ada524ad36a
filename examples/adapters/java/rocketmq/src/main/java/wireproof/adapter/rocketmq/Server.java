package wireproof.adapter.rocketmq;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/** A name server and a broker in this process, on ports of their own of the loopback interface. */
final class Server {
    private static final String LOOPBACK = "127.0.0.1";
    static final String BROKER = "wireproof-broker";
    private static final int TRIES = 20;
    private static final Duration REGISTERED_WITHIN = Duration.ofSeconds(30);
    private static final long POLL_MS = 20;

    private Server() {}

    /** Starts both, and returns the address of the name server. They end with this process. */
    static String start(Path folder) throws Exception {
        NettyServerConfig listen = new NettyServerConfig();
        listen.setBindAddress(LOOPBACK);
        listen.setListenPort(0);
        NamesrvController nameServer = new NamesrvController(new NamesrvConfig(), listen);
        require(nameServer.initialize(), "the name server");
        nameServer.start();
        String address = LOOPBACK + ":" + listen.getListenPort();
        BrokerController broker = broker(folder, address);
        require(broker.initialize(), "the broker");
        broker.start();
        broker.getMessageStore().getHaService().shutdown(); // it would listen on every interface
        awaitRegistration(nameServer);
        return address;
    }

    /** A broker registers in the background: on a busy machine a client came first. */
    private static void awaitRegistration(NamesrvController nameServer) throws Exception {
        long deadline = System.nanoTime() + REGISTERED_WITHIN.toNanos();
        while (!nameServer.getRouteInfoManager().getAllClusterInfo().getBrokerAddrTable().containsKey(BROKER)) {
            require(System.nanoTime() < deadline, "the broker's registration");
            Thread.sleep(POLL_MS);
        }
    }

    private static BrokerController broker(Path folder, String nameServer) throws Exception {
        BrokerConfig config = new BrokerConfig();
        config.setBrokerName(BROKER);
        config.setRocketmqHome(folder.toString());
        config.setNamesrvAddr(nameServer);
        config.setBrokerIP1(LOOPBACK);
        config.setBrokerIP2(LOOPBACK);
        NettyServerConfig listen = new NettyServerConfig();
        listen.setBindAddress(LOOPBACK);
        listen.setListenPort(freePort());
        MessageStoreConfig store = new MessageStoreConfig();
        store.setStorePathRootDir(folder.resolve("store").toString());
        store.setStorePathCommitLog(folder.resolve("store/commitlog").toString());
        store.setMappedFileSizeCommitLog(64 * 1024 * 1024);
        store.setHaListenPort(0);
        return new BrokerController(config, listen, new NettyClientConfig(), store);
    }

    /** Returns a free port; the broker listens on the one two below it as well. */
    private static int freePort() throws Exception {
        InetAddress loopback = InetAddress.getByName(LOOPBACK);
        for (int tries = 0; tries < TRIES; tries++) {
            try (ServerSocket first = new ServerSocket(0, 1, loopback);
                    ServerSocket second = new ServerSocket(first.getLocalPort() - 2, 1, loopback)) {
                return second.getLocalPort() + 2;
            } catch (java.net.BindException taken) {
                continue;
            }
        }
        throw new IllegalStateException("no two free ports were found on " + LOOPBACK);
    }

    private static void require(boolean started, String what) {
        if (!started) {
            throw new IllegalStateException(what + " did not start; see its logs");
        }
    }
}
