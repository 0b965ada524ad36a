package io.openmessaging.stub;

import io.openmessaging.KeyValue;
import io.openmessaging.OMS;
import io.openmessaging.consumer.MessageReceipt;
import io.openmessaging.extension.ExtensionHeader;
import io.openmessaging.message.Header;
import io.openmessaging.message.Message;
import java.util.Optional;

/** A message that is its own header, extension header and receipt. */
final class StubMessage implements Message, Header, ExtensionHeader, MessageReceipt {
    String destination;
    String messageId;
    long bornTimestamp;
    String bornHost;
    short priority;
    short durability;
    int deliveryCount;
    short compression;
    int partition;
    long offset;
    String correlationId;
    String transactionId;
    long storeTimestamp;
    String storeHost;
    String messageKey;
    String traceId;
    long delayTime;
    long expireTime;
    private byte[] data;
    private KeyValue properties = OMS.newKeyValue();

    StubMessage(String destination, byte[] data) {
        this.destination = destination;
        this.data = data;
    }

    StubMessage copy() {
        StubMessage copy = new StubMessage(destination, data);
        copy.messageId = messageId;
        copy.bornTimestamp = bornTimestamp;
        copy.bornHost = bornHost;
        copy.priority = priority;
        copy.durability = durability;
        copy.deliveryCount = deliveryCount;
        copy.compression = compression;
        copy.partition = partition;
        copy.offset = offset;
        copy.correlationId = correlationId;
        copy.transactionId = transactionId;
        copy.storeTimestamp = storeTimestamp;
        copy.storeHost = storeHost;
        copy.messageKey = messageKey;
        copy.traceId = traceId;
        copy.delayTime = delayTime;
        copy.expireTime = expireTime;
        copy.properties = properties;
        return copy;
    }

    @Override public Header header() { return this; }
    @Override public Optional<ExtensionHeader> extensionHeader() { return Optional.of(this); }
    @Override public KeyValue properties() { return properties; }
    @Override public byte[] getData() { return data; }
    @Override public void setData(byte[] value) { data = value; }
    @Override public MessageReceipt getMessageReceipt() { return this; }

    @Override public Header setDestination(String value) { destination = value; return this; }
    @Override public Header setMessageId(String value) { messageId = value; return this; }
    @Override public Header setBornTimestamp(long value) { bornTimestamp = value; return this; }
    @Override public Header setBornHost(String value) { bornHost = value; return this; }
    @Override public Header setPriority(short value) { priority = value; return this; }
    @Override public Header setDurability(short value) { durability = value; return this; }
    @Override public Header setDeliveryCount(int value) { deliveryCount = value; return this; }
    @Override public Header setCompression(short value) { compression = value; return this; }
    @Override public String getDestination() { return destination; }
    @Override public String getMessageId() { return messageId; }
    @Override public long getBornTimestamp() { return bornTimestamp; }
    @Override public String getBornHost() { return bornHost; }
    @Override public short getPriority() { return priority; }
    @Override public short getDurability() { return durability; }
    @Override public int getDeliveryCount() { return deliveryCount; }
    @Override public short getCompression() { return compression; }

    @Override public ExtensionHeader setPartition(int value) { partition = value; return this; }
    @Override public ExtensionHeader setOffset(long value) { offset = value; return this; }
    @Override public ExtensionHeader setCorrelationId(String value) { correlationId = value; return this; }
    @Override public ExtensionHeader setTransactionId(String value) { transactionId = value; return this; }
    @Override public ExtensionHeader setStoreTimestamp(long value) { storeTimestamp = value; return this; }
    @Override public ExtensionHeader setStoreHost(String value) { storeHost = value; return this; }
    @Override public ExtensionHeader setMessageKey(String value) { messageKey = value; return this; }
    @Override public ExtensionHeader setTraceId(String value) { traceId = value; return this; }
    @Override public ExtensionHeader setDelayTime(long value) { delayTime = value; return this; }
    @Override public ExtensionHeader setExpireTime(long value) { expireTime = value; return this; }
    @Override public int getPartiton() { return partition; }
    @Override public long getOffset() { return offset; }
    @Override public String getCorrelationId() { return correlationId; }
    @Override public String getTransactionId() { return transactionId; }
    @Override public long getStoreTimestamp() { return storeTimestamp; }
    @Override public String getStoreHost() { return storeHost; }
    @Override public long getDelayTime() { return delayTime; }
    @Override public long getExpireTime() { return expireTime; }
    @Override public String getMessageKey() { return messageKey; }
    @Override public String getTraceId() { return traceId; }
}
