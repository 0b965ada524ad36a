package wireproof.adapter.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.openmessaging.exception.OMSRuntimeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import wireproof.adapter.Adapter;

/** The adapter, spoken to in lines, with a driver that its `oms:` URL names. */
@Timeout(20)
class AdapterTest {
    private static final String URL = "oms:stub://localhost:80/test";

    private final PipedOutputStream input = new PipedOutputStream();
    private final PrintStream kit = new PrintStream(input, true, StandardCharsets.UTF_8);
    private BufferedReader answers;
    private Thread thread;
    private int id;

    @BeforeEach
    void start() throws IOException {
        PipedInputStream in = new PipedInputStream(input, 1 << 16);
        PipedOutputStream output = new PipedOutputStream();
        answers = new BufferedReader(
                new InputStreamReader(new PipedInputStream(output, 1 << 16), StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(output, true, StandardCharsets.UTF_8);
        Broker broker = new Broker(URL, "GROUP");
        thread = new Thread(() -> run(broker, in, out));
        thread.start();
        assertEquals("wireproof-driver", next().get("hello").getAsString());
        ask("create_destination", "'destination': 'q'");
        next();
    }

    @AfterEach
    void end() throws InterruptedException {
        kit.close();
        thread.join();
    }

    @Test
    void aMessageArrivesAsItWasSentWithWhatTheServerSets() throws IOException {
        ask("receive", "'destination': 'q', 'group': 'g', 'max': 1, 'timeout_ms': 0");
        assertEquals(0, ok().getAsJsonArray("messages").size());
        send("'traceId': 'tr', 'expireTime': 9223372036854775807, 'partition': 70000, 'priority': 300");
        assertEquals("stub-", header(ok()).get("messageId").getAsString().substring(0, 5));

        JsonObject delivery = receive("g");

        JsonObject told = extension(delivery);
        assertEquals("9223372036854775807", told.get("expireTime").getAsString());
        assertEquals("tr", told.get("traceId").getAsString());
        assertEquals(70000, told.get("partition").getAsInt());
        assertEquals(300, told.get("priority").getAsInt());
        assertEquals("stub", told.get("storeHost").getAsString());
        assertFalse(told.has("delayTime"));
        ask("ack", "'receipt': '" + delivery.get("receipt").getAsString() + "'");
        assertEquals(0, ok().size());
    }

    @Test
    void whatTheInterfaceCannotHoldIsRefusedAndNotCut() throws IOException {
        send("'priority': 70000");
        assertTrue(next().getAsJsonObject("error").get("message").getAsString().contains("short"));
        send("'deliveryCount': 4294967296");
        assertTrue(next().has("error"));
        send("'unknownName': 'x'");
        assertEquals("unknownName", next().get("unsupported").getAsString());
    }

    @Test
    void aTransactionIsCommittedOrRolledBack() throws IOException {
        ask("receive", "'destination': 'q', 'group': 'tx', 'max': 1, 'timeout_ms': 0");
        ok();
        for (String end : new String[] {"rollback", "commit"}) {
            ask("prepare", message("'transactionId': '" + end + "'"));
            assertEquals(end, extension(ok()).get("transactionId").getAsString());
            ask(end, "'transactionId': '" + end + "'");
            assertEquals(end, ok().get("transactionId").getAsString());
        }
        assertEquals("commit", extension(receive("tx")).get("transactionId").getAsString());
    }

    @Test
    void aReceiveThatWaitsKeepsNoOtherRequestWaiting() throws IOException {
        ask("receive", "'destination': 'q', 'group': 'waiting', 'max': 1, 'timeout_ms': 300");
        ask("fly", "'high': 1");
        assertEquals("fly", next().get("unsupported").getAsString());
        assertEquals(0, ok().getAsJsonArray("messages").size());
    }

    @Test
    void errorsOfTheDriverAreToldWithTheirCode() throws IOException {
        ask("send", message("").replace("'q'", "'nowhere'"));
        JsonObject error = next().getAsJsonObject("error");
        assertEquals("1404", error.get("code").getAsString());
        assertTrue(error.get("message").getAsString().contains("nowhere"));
    }

    @Test
    void anUnknownDriverIsRefused() {
        assertThrows(OMSRuntimeException.class, () -> new Broker("oms:unheard-of://localhost/r", ""));
    }

    private void ask(String op, String members) {
        id++;
        kit.println(("{'id': " + id + ", 'op': '" + op + "', " + members + "}").replace('\'', '"'));
    }

    private void send(String attributes) {
        ask("send", message(attributes));
    }

    private static String message(String attributes) {
        return "'message': {'message': {'version': '1', 'header': {'destination': 'q'}, 'extensionHeader': {"
                + attributes + "}, 'properties': {'a': 'b'}, 'data': 'aGVsbG8='}}";
    }

    private JsonObject receive(String group) throws IOException {
        ask("receive", "'destination': 'q', 'group': '" + group + "', 'max': 1, 'timeout_ms': 5000");
        return ok().getAsJsonArray("messages").get(0).getAsJsonObject();
    }

    private JsonObject ok() throws IOException {
        JsonObject answer = next();
        assertTrue(answer.has("ok"), answer::toString);
        return answer.getAsJsonObject("ok");
    }

    private JsonObject next() throws IOException {
        return JsonParser.parseString(answers.readLine()).getAsJsonObject();
    }

    private static JsonObject header(JsonObject holder) {
        return parts(holder).getAsJsonObject("header");
    }

    private static JsonObject extension(JsonObject holder) {
        return parts(holder).getAsJsonObject("extensionHeader");
    }

    private static JsonObject parts(JsonObject holder) {
        return holder.getAsJsonObject("message").getAsJsonObject("message");
    }

    private static void run(Broker broker, PipedInputStream in, PrintStream out) {
        try {
            new Adapter(broker.operations(), out).run(in, broker.name(), broker.version(), Main.CLAIMS);
            broker.close();
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }
}
