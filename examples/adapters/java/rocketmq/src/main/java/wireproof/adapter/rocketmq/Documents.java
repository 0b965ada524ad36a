package wireproof.adapter.rocketmq;

import com.google.gson.JsonObject;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import wireproof.adapter.Unsupported;

/** The document form of messages, as far as both clients share it. */
final class Documents {
    private Documents() {}

    static JsonObject parts(JsonObject request) {
        return request.getAsJsonObject("message").getAsJsonObject("message");
    }

    static String destination(JsonObject parts) {
        return parts.getAsJsonObject("header").get("destination").getAsString();
    }

    static byte[] body(JsonObject parts) {
        return parts.has("data") ? Base64.getDecoder().decode(parts.get("data").getAsString()) : new byte[0];
    }

    /** Returns the user properties of a message; both clients have texts alone. */
    static Map<String, String> properties(JsonObject parts) {
        Map<String, String> found = new TreeMap<>();
        if (parts.has("properties")) {
            parts.getAsJsonObject("properties").entrySet().forEach(each -> {
                if (!each.getValue().getAsJsonPrimitive().isString()) {
                    throw new Unsupported(each.getKey());
                }
                found.put(each.getKey(), each.getValue().getAsString());
            });
        }
        return found;
    }

    /** Returns a message in its document form, under the name that the answers have for it. */
    static JsonObject answer(JsonObject header, JsonObject extension, Map<String, String> properties, byte[] body) {
        JsonObject told = new JsonObject();
        properties.forEach(told::addProperty);
        JsonObject parts = new JsonObject();
        parts.addProperty("version", "1.0.0-alpha");
        parts.add("header", header);
        parts.add("extensionHeader", extension);
        parts.add("properties", told);
        if (body != null) {
            parts.addProperty("data", Base64.getEncoder().encodeToString(body));
        }
        JsonObject document = new JsonObject();
        document.add("message", parts);
        JsonObject answer = new JsonObject();
        answer.add("message", document);
        return answer;
    }

    static void text(JsonObject to, String name, String value) {
        if (value != null) {
            to.addProperty(name, value);
        }
    }
}
