<?php
// A driver of Apache Iggy's SDK for PHP for `wireproof client`: see docs/driver-protocol.md.
// The SDK is an extension: docs/iggy-sdks.md says how it is built.

const USER = 'iggy';
const PASSWORD = 'iggy';

final class Unsupported extends Exception
{
}

final class ApacheIggy
{
    private array $settings;
    private ?Iggy\Client $client = null;

    public function open(array $request): array
    {
        if ($request['settings']['transport'] !== 'tcp') {
            throw new Unsupported('transport');
        }
        $this->settings = $request['settings'];
        return [];
    }

    public function create_stream(array $request): array
    {
        $this->client()->createStream($request['name']);
        return [];
    }

    public function poll(array $request): array
    {
        $value = (int) ($request['value'] ?? '0');
        $strategy = match ($request['strategy']) {
            'offset' => Iggy\PollingStrategy::offset($value),
            'timestamp' => Iggy\PollingStrategy::timestampMicros($value),
            'first' => Iggy\PollingStrategy::first(),
            'last' => Iggy\PollingStrategy::last(),
            'next' => Iggy\PollingStrategy::next(),
        };
        [$stream, $topic, $partition] = $this->place();
        $commit = $request['auto_commit'] ?? false;
        $messages = $this->client()
            ->pollMessages($stream, $topic, $partition, $strategy, $request['count'], $commit);
        return ['messages' => array_map($this->told(...), $messages)];
    }

    public function send(array $request): array
    {
        [$stream, $topic, $partition] = $this->place();
        if (isset($request['partitioning'])) {
            if ($request['partitioning']['kind'] !== 'partition_id') {
                throw new Unsupported('partitioning');
            }
            $partition = unpack('V', base64_decode($request['partitioning']['value']))[1];
        }
        $messages = array_map($this->toSend(...), $request['messages']);
        $response = $this->client()->sendMessages($stream, $topic, $partition, $messages);
        return ['confirmations' => array_map(fn ($each) => [
            'stream' => $each->stream_id,
            'topic' => $each->topic_id,
            'partition' => $each->partition_id,
            'base_offset' => (string) $each->base_offset,
        ], $response->confirmations)];
    }

    public function close(array $request): array
    {
        return [];
    }

    private function place(): array
    {
        return [$this->settings['stream'], $this->settings['topic'], $this->settings['partition']];
    }

    /** Returns the library's client, which connects and logs in again by itself. */
    private function client(): Iggy\Client
    {
        if ($this->client === null) {
            // By default a call waits for a server that is gone without end.
            $again = 'reconnection_retries=1&reconnection_interval=100ms&reestablish_after=100ms';
            $address = USER . ':' . PASSWORD . '@' . $this->settings['tcp'];
            $client = Iggy\Client::fromConnectionString("iggy://$address?$again");
            $client->connect();
            $this->client = $client;
        }
        return $this->client;
    }

    /** The library has no headers, and takes no id. */
    private function toSend(array $message): Iggy\SendMessage
    {
        foreach (['id', 'headers'] as $name) {
            if (isset($message[$name])) {
                throw new Unsupported($name);
            }
        }
        return new Iggy\SendMessage(base64_decode($message['payload']));
    }

    private function told(Iggy\ReceiveMessage $message): array
    {
        return [
            'offset' => (string) $message->offset(),
            'timestamp' => (string) $message->timestamp(),
            'id' => $message->id(),
            'checksum' => $message->checksum(),
            'payload' => base64_encode($message->payload()),
        ];
    }
}

function say(array $fields): void
{
    fwrite(STDOUT, json_encode($fields, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
}

const MEMBERS = [
    'id', 'op', 'version', 'settings', 'name', 'strategy', 'value', 'count', 'auto_commit',
    'messages', 'partitioning',
];

$client = new ApacheIggy();
$operations = ['create_stream', 'poll', 'send'];
say([
    'hello' => 'wireproof-driver',
    'versions' => [1],
    'name' => 'Apache Iggy SDK for PHP',
    'version' => phpversion('iggy-php') ?: 'unknown',
    'operations' => $operations,
    'claims' => ['tcp'],
]);
while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line, true);
    ['id' => $id, 'op' => $op] = $request;
    try {
        if (!in_array($op, ['open', 'close', ...$operations], true)) {
            throw new Unsupported($op);
        }
        foreach (array_diff(array_keys($request), MEMBERS) as $name) {
            throw new Unsupported($name);
        }
        say(['id' => $id, 'ok' => (object) $client->$op($request)]);
    } catch (Unsupported $what) {
        say(['id' => $id, 'unsupported' => $what->getMessage()]);
    } catch (Throwable $error) {
        say(['id' => $id, 'error' => ['message' => $error->getMessage()]]);
    }
}
