package wireproof.adapter;

/** An operation, or a member of a request, that this adapter or its system does not know. */
public final class Unsupported extends RuntimeException {
    public Unsupported(String what) {
        super(what);
    }

    /** Throws if a request has a member that this adapter does not know. */
    public static void refuse(com.google.gson.JsonObject request, String member) {
        if (request.has(member)) {
            throw new Unsupported(member);
        }
    }
}
