package wireproof.adapter;

import com.google.gson.JsonObject;

/** Carries out one operation of the adapter protocol: a request in, the members of `ok` out. */
@FunctionalInterface
public interface Operation {
    /** Throws Unsupported, Refused, or anything else, which is then told as an error. */
    JsonObject carryOut(JsonObject request) throws Exception;
}
