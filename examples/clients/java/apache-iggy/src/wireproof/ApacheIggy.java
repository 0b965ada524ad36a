package wireproof;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.iggy.client.blocking.IggyBaseClient;
import org.apache.iggy.client.blocking.http.IggyHttpClient;
import org.apache.iggy.client.blocking.tcp.IggyTcpClient;
import org.apache.iggy.message.HeaderKey;
import org.apache.iggy.message.HeaderKind;
import org.apache.iggy.message.HeaderValue;
import org.apache.iggy.message.Message;
import org.apache.iggy.message.MessageHeader;
import org.apache.iggy.message.MessageId;
import org.apache.iggy.message.Partitioning;
import org.apache.iggy.message.PartitioningKind;
import org.apache.iggy.message.PollingStrategy;
import org.apache.iggy.message.SendConfirmation;
import org.apache.iggy.stream.StreamDetails;
import wireproof.Driver.Request;

/** A driver of Apache Iggy's SDK for Java for `wireproof client`. */
public final class ApacheIggy {
    private static final String USER = "iggy";
    private static final String PASSWORD = "iggy";
    private static final long CONSUMER = 1;

    private Request settings;
    private IggyBaseClient client;

    private Map<String, ?> open(Request request) {
        settings = request.object("settings");
        return Map.of();
    }

    /** Returns the library's client, which connects and logs in again by itself. */
    private IggyBaseClient client() {
        if (client == null) {
            boolean overHttp = settings.text("transport").equals("http");
            String address = settings.text(overHttp ? "http" : "tcp");
            int colon = address.lastIndexOf(':');
            client = overHttp
                    ? IggyHttpClient.builder().url("http://" + address).credentials(USER, PASSWORD).buildAndLogin()
                    : IggyTcpClient.builder()
                            .host(address.substring(0, colon))
                            .port(Integer.valueOf(address.substring(colon + 1)))
                            .credentials(USER, PASSWORD)
                            .buildAndLogin();
        }
        return client;
    }

    private Map<String, ?> createStream(Request request) {
        StreamDetails stream = client().streams().createStream(request.text("name"));
        return Map.of("id", stream.id(), "name", stream.name());
    }

    private Map<String, ?> poll(Request request) {
        BigInteger value = request.has("value") ? new BigInteger(request.text("value")) : BigInteger.ZERO;
        PollingStrategy strategy = switch (request.text("strategy")) {
            case "offset" -> PollingStrategy.offset(value);
            case "timestamp" -> PollingStrategy.timestamp(value);
            case "first" -> PollingStrategy.first();
            case "last" -> PollingStrategy.last();
            default -> PollingStrategy.next();
        };
        List<Message> messages = client().messages()
                .pollMessages(
                        id("stream"),
                        id("topic"),
                        Optional.of(id("partition")),
                        CONSUMER,
                        strategy,
                        (long) request.number("count"),
                        request.is("auto_commit"))
                .messages();
        return Map.of("messages", messages.stream().map(ApacheIggy::told).toList());
    }

    private Map<String, ?> send(Request request) {
        Partitioning partitioning = Partitioning.partitionId(id("partition"));
        if (request.has("partitioning")) {
            partitioning = toPartitioning(request.object("partitioning"));
        }
        List<Message> messages = new ArrayList<>();
        for (Request each : objects(request.members().get("messages"))) {
            messages.add(toSend(each));
        }
        List<SendConfirmation> confirmations = client().messages()
                .sendMessages(id("stream"), id("topic"), partitioning, messages)
                .confirmations();
        return Map.of("confirmations", confirmations.stream()
                .map(each -> Map.of(
                        "stream", each.streamId(),
                        "topic", each.topicId(),
                        "partition", each.partitionId(),
                        "base_offset", each.baseOffset().toString()))
                .toList());
    }

    private Long id(String name) {
        return (long) settings.number(name);
    }

    private static Partitioning toPartitioning(Request given) {
        byte[] value = given.bytes("value");
        return switch (given.text("kind")) {
            case "balanced" -> Partitioning.balanced();
            case "partition_id" -> Partitioning.partitionId(
                    Integer.toUnsignedLong(ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).getInt()));
            default -> new Partitioning(PartitioningKind.MessagesKey, value);
        };
    }

    /** Returns a message to send; the library's own function takes text only, and no id. */
    private static Message toSend(Request given) {
        byte[] payload = given.bytes("payload");
        MessageId id = given.has("id")
                ? MessageId.from(new BigInteger(given.text("id")))
                : MessageId.serverGenerated();
        BigInteger zero = BigInteger.ZERO;
        MessageHeader header = new MessageHeader(zero, id, zero, zero, zero, 0L, (long) payload.length, zero);
        return new Message(header, payload, Map.of()).withUserHeaders(toHeaders(given.members().get("headers")));
    }

    /** Returns headers of the library: keys of an object are text, others stand in an array. */
    private static Map<HeaderKey, HeaderValue> toHeaders(Object given) {
        Map<HeaderKey, HeaderValue> headers = new LinkedHashMap<>();
        if (given instanceof Map<?, ?> named) {
            for (Map.Entry<?, ?> each : named.entrySet()) {
                Request value = object(each.getValue());
                byte[] key = ((String) each.getKey()).getBytes(StandardCharsets.UTF_8);
                headers.put(new HeaderKey(HeaderKind.String, key), new HeaderValue(kind(value), value.bytes("value")));
            }
        } else if (given != null) {
            for (Request each : objects(given)) {
                Request key = each.object("key");
                Request value = each.object("value");
                headers.put(
                        new HeaderKey(kind(key), key.bytes("value")), new HeaderValue(kind(value), value.bytes("value")));
            }
        }
        return headers;
    }

    private static HeaderKind kind(Request given) {
        return Arrays.stream(HeaderKind.values())
                .filter(each -> name(each).equals(given.text("kind")))
                .findFirst()
                .orElseThrow(() -> new Driver.Unsupported("headers"));
    }

    private static String name(HeaderKind kind) {
        return kind.name().toLowerCase(Locale.ROOT);
    }

    /** Returns what the library tells its user of a message. */
    private static Map<String, ?> told(Message message) {
        MessageHeader header = message.header();
        return Map.of(
                "offset", header.offset().toString(),
                "timestamp", header.timestamp().toString(),
                "origin_timestamp", header.originTimestamp().toString(),
                "id", header.id().toBigInteger().toString(),
                "checksum", header.checksum().toString(),
                "payload", base64(message.payload()),
                "headers", named(message.userHeaders()));
    }

    /** Returns headers as an object by key if all keys are text, otherwise as an array. */
    private static Object named(Map<HeaderKey, HeaderValue> headers) {
        Map<String, Object> named = new LinkedHashMap<>();
        List<Object> pairs = new ArrayList<>();
        headers.forEach((key, value) -> {
            Map<String, ?> typed = Map.of("kind", name(value.kind()), "value", base64(value.value()));
            pairs.add(Map.of("key", Map.of("kind", name(key.kind()), "value", base64(key.value())), "value", typed));
            named.put(new String(key.value(), StandardCharsets.UTF_8), typed);
        });
        boolean areTexts = headers.keySet().stream().allMatch(each -> each.kind() == HeaderKind.String);
        return areTexts ? named : pairs;
    }

    private static String base64(byte[] data) {
        return Base64.getEncoder().encodeToString(data);
    }

    private static List<Request> objects(Object given) {
        return ((List<?>) given).stream().map(ApacheIggy::object).toList();
    }

    @SuppressWarnings("unchecked")
    private static Request object(Object given) {
        return new Request((Map<String, Object>) given);
    }

    public static void main(String[] arguments) throws Exception {
        ApacheIggy client = new ApacheIggy();
        Driver.serve("Apache Iggy SDK for Java", "0.9.0-SNAPSHOT", List.of("tcp", "http", "headers"), Map.of(
                "open", client::open,
                "create_stream", client::createStream,
                "poll", client::poll,
                "send", client::send,
                "close", request -> Map.of()));
    }
}
