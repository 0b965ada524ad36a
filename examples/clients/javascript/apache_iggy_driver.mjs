// A driver of Apache Iggy's SDK for Node.js for `wireproof client`: see docs/driver-protocol.md.
// APACHE_IGGY_SDK names the folder of the built SDK; without it, the package apache-iggy is used.
import path from 'node:path'
import readline from 'node:readline'
import { pathToFileURL } from 'node:url'

const folder = process.env.APACHE_IGGY_SDK
const sdk = await import(
  folder ? pathToFileURL(path.resolve(folder, 'dist/index.js')).href : 'apache-iggy'
)
const { Client, Consumer, HeaderKeyFactory, HeaderValue, Partitioning, PollingStrategy } = sdk

const USER = 'iggy'
const PASSWORD = 'iggy'
const CONSUMER = { ...Consumer.Single, id: 1 }
// The names of the kinds of headers, and of the library's functions for them; the first is kind 1.
const KINDS = {
  raw: 'Raw',
  string: 'String',
  bool: 'Bool',
  int8: 'Int8',
  int16: 'Int16',
  int32: 'Int32',
  int64: 'Int64',
  int128: 'Int128',
  uint8: 'Uint8',
  uint16: 'Uint16',
  uint32: 'Uint32',
  uint64: 'Uint64',
  uint128: 'Uint128',
  float32: 'Float',
  float64: 'Double',
}
const NAMES = Object.keys(KINDS)
const NUMBERS = {
  int8: [1, 'Int8'],
  int16: [2, 'Int16LE'],
  int32: [4, 'Int32LE'],
  int64: [8, 'BigInt64LE'],
  uint8: [1, 'UInt8'],
  uint16: [2, 'UInt16LE'],
  uint32: [4, 'UInt32LE'],
  uint64: [8, 'BigUInt64LE'],
  float32: [4, 'FloatLE'],
  float64: [8, 'DoubleLE'],
}
let settings, client

class Unsupported extends Error {}

const say = fields => process.stdout.write(JSON.stringify(fields) + '\n')
const bytes = text => Buffer.from(text, 'base64')
const where = () => ({ streamId: settings.stream, topicId: settings.topic })

// Returns the library's client, which connects and logs in again by itself.
function connected() {
  if (!client) {
    const [host, port] = settings.tcp.split(':')
    client = new Client({
      transport: 'TCP',
      options: { host, port: Number(port) },
      credentials: { username: USER, password: PASSWORD },
    })
  }
  return client
}

// Returns the value of a header as the library takes it: a number, a text, or bytes.
function plain({ kind, value }) {
  const data = bytes(value)
  if (kind === 'string') return data.toString()
  if (kind === 'bool') return data[0] === 1
  return NUMBERS[kind] ? data[`read${NUMBERS[kind][1]}`]() : data
}

// Returns a key or value that the library tells as its kind and bytes.
function typed({ kind, value }) {
  const name = NAMES[kind - 1]
  let data = value
  if (name === 'string') data = Buffer.from(value)
  else if (name === 'bool') data = Buffer.of(Number(value))
  else if (NUMBERS[name]) {
    data = Buffer.alloc(NUMBERS[name][0])
    data[`write${NUMBERS[name][1]}`](value)
  }
  return { kind: name, value: data.toString('base64') }
}

// Returns headers of the library: keys of an object are text, others stand in an array.
function toHeaders(given) {
  const pairs = Array.isArray(given)
    ? given
    : Object.entries(given).map(([key, value]) => {
        return { key: { kind: 'string', value: Buffer.from(key).toString('base64') }, value }
      })
  return pairs.map(({ key, value }) => {
    const makeKey = HeaderKeyFactory[KINDS[key.kind]]
    const makeValue = HeaderValue[KINDS[value.kind]]
    if (!makeKey || !makeValue) throw new Unsupported('headers')
    return { key: makeKey(plain(key)), value: makeValue(plain(value)) }
  })
}

function toHeadersObject(entries) {
  const pairs = entries.map(({ key, value }) => ({ key: typed(key), value: typed(value) }))
  const names = entries.map(({ key }) => String(key.value))
  const isObject = pairs.every(({ key }) => key.kind === 'string') && new Set(names).size === names.length
  return isObject ? Object.fromEntries(pairs.map(({ value }, at) => [names[at], value])) : pairs
}

// Returns what the library tells its user of a message. It tells times as dates, which have whole
// milliseconds, so that the driver has no word for times in microseconds.
function told({ headers, payload, userHeaders }) {
  return {
    offset: String(headers.offset),
    id: String(headers.id),
    checksum: String(headers.checksum),
    payload: payload.toString('base64'),
    headers: toHeadersObject(userHeaders),
  }
}

function toPartitioning({ kind, value }) {
  if (kind === 'balanced') return Partitioning.Balanced
  if (kind === 'partition_id') return Partitioning.PartitionId(bytes(value).readUInt32LE())
  return Partitioning.MessageKey(bytes(value))
}

const operations = {
  async open(request) {
    if (request.settings.transport !== 'tcp') throw new Unsupported('transport')
    settings = request.settings
  },
  async create_stream({ name }) {
    const stream = await connected().stream.create({ name })
    return { id: stream.id, name: stream.name }
  },
  async poll({ strategy, value = '0', count, auto_commit: autocommit = false }) {
    const named = PollingStrategy[strategy[0].toUpperCase() + strategy.slice(1)]
    const { messages } = await connected().message.poll({
      ...where(),
      consumer: CONSUMER,
      partitionId: settings.partition,
      pollingStrategy: typeof named === 'function' ? named(BigInt(value)) : named,
      count,
      autocommit,
    })
    return { messages: messages.map(told) }
  },
  async send({ messages, partitioning }) {
    const partition = partitioning ? toPartitioning(partitioning) : undefined
    const { confirmations } = await connected().message.send({
      ...where(),
      partition: partition ?? Partitioning.PartitionId(settings.partition),
      messages: messages.map(({ payload, id, headers }) => ({
        payload: bytes(payload),
        ...(id && { id: BigInt(id) }),
        ...(headers && { headers: toHeaders(headers) }),
      })),
    })
    return {
      confirmations: confirmations.map(({ streamId, topicId, partitionId, baseOffset }) => {
        return { stream: streamId, topic: topicId, partition: partitionId, base_offset: String(baseOffset) }
      }),
    }
  },
  async close() {},
}

const MEMBERS = [
  ...['id', 'op', 'version', 'settings', 'name', 'strategy', 'value', 'count', 'auto_commit'],
  ...['messages', 'partitioning'],
]

async function serve(request) {
  const { id, op } = request
  const unknown = operations[op] ? Object.keys(request).find(name => !MEMBERS.includes(name)) : op
  if (unknown) return say({ id, unsupported: unknown })
  try {
    say({ id, ok: (await operations[op](request)) ?? {} })
  } catch (error) {
    if (error instanceof Unsupported) return say({ id, unsupported: error.message })
    say({ id, error: { message: String(error?.message || error) } })
  }
}

say({
  hello: 'wireproof-driver',
  versions: [1],
  name: 'Apache Iggy SDK for Node.js',
  version: '0.10.0-edge.4',
  operations: ['create_stream', 'poll', 'send'],
  claims: ['tcp', 'headers'],
})
readline
  .createInterface({ input: process.stdin })
  .on('line', line => serve(JSON.parse(line)))
  .on('close', () => process.exit(0))
