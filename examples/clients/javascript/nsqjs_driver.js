// A driver of nsqjs 0.13.0 for `wireproof client`: see docs/driver-protocol.md.
const readline = require('readline')
const nsq = require('nsqjs')

const NOT_OF_THE_ORIGINAL = ['key', 'ext', 'tag', 'trace_id', 'ordered', 'trace']
const MEMBERS = [
  ...['id', 'op', 'version', 'settings', 'topic', 'body', 'channel', 'handler', 'hold_ms'],
  ...['max_in_flight', 'msg_timeout_ms', ...NOT_OF_THE_ORIGINAL],
]
let settings, writer, reader
let wasReady = false

const say = fields => process.stdout.write(JSON.stringify(fields) + '\n')
const text = error => String((error && error.message) || error)

function tellMessage(request, message) {
  const id = message.rawMessage.subarray(10, 26)
  say({
    event: 'message',
    of: request.id,
    id: id.toString('hex'),
    body: message.body.toString('base64'),
    internal_id: id.readBigUInt64BE(0).toString(),
    trace_id: id.readBigUInt64BE(8).toString(),
    attempts: message.attempts,
    timestamp: message.timestamp.toString(),
  })
}

function handle(request, message) {
  tellMessage(request, message)
  if (request.handler === 'fail') return message.requeue(100, false)
  if (request.handler === 'touch') message.touch()
  if (request.handler === 'hold') return setTimeout(() => message.finish(), request.hold_ms)
  message.finish()
}

function produce(request, done) {
  if (!writer) {
    const [host, port] = settings.nsqd.split(':')
    writer = new nsq.Writer(host, Number(port))
    writer.on('error', error => process.stderr.write(`writer: ${text(error)}\n`))
    writer.once('ready', () => (wasReady = true))
    writer.connect()
  }
  const publish = () => writer.publish(request.topic, Buffer.from(request.body, 'base64'), done)
  if (wasReady) return publish()
  writer.once('ready', publish)
}

function consume(request, done) {
  reader = new nsq.Reader(request.topic, request.channel, {
    lookupdHTTPAddresses: settings.lookupd,
    lookupdPollInterval: settings.lookup_interval_ms / 1000,
    lookupdPollJitter: 0.01, // 0 is refused
    maxInFlight: request.max_in_flight || 20,
    messageTimeout: request.msg_timeout_ms || null,
  })
  reader.on('error', error => say({ event: 'error', of: request.id, message: text(error) }))
  reader.on('message', message => handle(request, message))
  reader.connect()
  done()
}

const operations = {
  open(request, done) {
    settings = request.settings
    done()
  },
  produce,
  consume,
  close(request, done) {
    if (reader) reader.close()
    if (writer) writer.close()
    done()
  },
}

function serve(request) {
  const unknown = operations[request.op]
    ? NOT_OF_THE_ORIGINAL.find(name => request[name]) ||
      Object.keys(request).find(name => !MEMBERS.includes(name))
    : request.op
  if (unknown) return say({ id: request.id, unsupported: unknown })
  operations[request.op](request, error =>
    say(error ? { id: request.id, error: { message: text(error) } } : { id: request.id, ok: {} })
  )
}

say({
  hello: 'wireproof-driver',
  versions: [1],
  name: 'nsqjs',
  version: '0.13.0',
  operations: ['produce', 'consume'],
  claims: [],
})
readline
  .createInterface({ input: process.stdin })
  .on('line', line => serve(JSON.parse(line)))
  .on('close', () => process.exit(0))
