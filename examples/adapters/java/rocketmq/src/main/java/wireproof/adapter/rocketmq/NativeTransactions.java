package wireproof.adapter.rocketmq;

import com.google.gson.JsonObject;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Transactions of the native client. The client sends the prepare message and ends the transaction
 * in one call, with the sender's own work between; here that work is to wait for commit or rollback.
 */
final class NativeTransactions implements TransactionListener {
    private record Open(CompletableFuture<SendResult> prepared, CompletableFuture<Boolean> commits,
            CompletableFuture<SendResult> ended) {}

    private static final long WITHIN_S = 10;

    private final TransactionMQProducer producer = new TransactionMQProducer("wireproof-transactions");
    private final Map<String, Open> transactions = new ConcurrentHashMap<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    NativeTransactions(String nameServer) throws MQClientException {
        producer.setNamesrvAddr(nameServer);
        producer.setTransactionListener(this);
        producer.start();
    }

    /** Returns when the prepare message is stored; the message then has the id of its transaction. */
    SendResult prepare(Message message) throws Exception {
        Open open = new Open(new CompletableFuture<>(), new CompletableFuture<>(), new CompletableFuture<>());
        threads.submit(() -> {
            try {
                open.ended.complete(producer.sendMessageInTransaction(message, open));
            } catch (MQClientException | RuntimeException failed) {
                open.prepared.completeExceptionally(failed);
                open.ended.completeExceptionally(failed);
            }
        });
        SendResult result = result(open.prepared);
        transactions.put(message.getTransactionId(), open);
        return result;
    }

    JsonObject end(JsonObject request, boolean commits) throws Exception {
        String id = request.get("transactionId").getAsString();
        Open open = transactions.remove(id);
        if (open == null) {
            throw new IllegalArgumentException("expected an open transaction, found " + id);
        }
        open.commits.complete(commits);
        JsonObject answer = new JsonObject();
        answer.addProperty("transactionId", result(open.ended).getTransactionId());
        return answer;
    }

    @Override
    public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
        Open open = (Open) argument;
        SendResult stored = new SendResult();
        stored.setMsgId(message.getTransactionId());
        open.prepared.complete(stored);
        return open.commits.join() ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
    }

    @Override
    public LocalTransactionState checkLocalTransaction(MessageExt message) {
        return LocalTransactionState.UNKNOW;
    }

    private static SendResult result(CompletableFuture<SendResult> of) throws Exception {
        try {
            return of.get(WITHIN_S, TimeUnit.SECONDS);
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof Exception cause ? cause : failed;
        }
    }
}
