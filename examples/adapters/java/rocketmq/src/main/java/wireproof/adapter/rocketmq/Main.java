package wireproof.adapter.rocketmq;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import wireproof.adapter.Adapter;
import wireproof.adapter.Operation;

/**
 * Apache RocketMQ behind its native client or behind its OpenMessaging driver; without a name server
 * to be reached, in this process. With `server` it is the servers alone, until its input ends.
 */
public final class Main {
    /** A client of RocketMQ, as the adapter uses it. */
    interface Client {
        List<String> claims();

        Map<String, Operation> operations();
    }

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        String kind = arguments.length > 0 ? arguments[0] : "";
        if (!List.of("server", "native", "openmessaging").contains(kind)) {
            System.err.println("usage: rocketmq-adapter server | native|openmessaging [--name-server HOST:PORT]");
            System.exit(2);
        }
        PrintStream out = Adapter.takeOutput();
        Path folder = Files.createTempDirectory("wireproof-rocketmq");
        System.setProperty("user.home", folder.toString()); // the logs go there
        // Each request names it. A name server takes a broker without a version for one of another format.
        System.setProperty(RemotingCommand.REMOTING_VERSION_KEY, String.valueOf(MQVersion.CURRENT_VERSION));
        String given = Adapter.option(arguments, "--name-server", "");
        String nameServer = given.isEmpty() ? Server.start(folder) : given;
        if (kind.equals("server")) {
            out.println(nameServer);
            out.flush();
            System.in.readAllBytes();
        } else {
            adapt(kind, new Topics(nameServer), out);
        }
        delete(folder);
        Runtime.getRuntime().halt(0); // clients and servers take seconds to end in good order
    }

    private static void adapt(String kind, Topics topics, PrintStream out) throws Exception {
        Client client = kind.equals("native") ? new NativeClient(topics) : new OpenMessagingClient(topics);
        String version = MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION);
        new Adapter(client.operations(), out).run(System.in, "Apache RocketMQ, " + kind, version, client.claims());
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path each : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(each);
            }
        }
    }
}
