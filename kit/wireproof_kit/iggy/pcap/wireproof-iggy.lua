-- Iggy's binary transport as the message-state text has it, for Wireshark.
-- How to use it: docs/wireshark.md

local iggy = Proto("wireproof_iggy", "Iggy")

local commands = {
  [0] = "kill", [1] = "ping", [10] = "get_stats", [20] = "get_me", [21] = "get_client",
  [22] = "get_clients", [100] = "poll_messages", [101] = "send_messages",
  [120] = "get_consumer_offset", [121] = "store_consumer_offset", [200] = "get_stream",
  [201] = "get_streams", [202] = "create_stream", [203] = "delete_stream", [300] = "get_topic",
  [301] = "get_topics", [302] = "create_topic", [303] = "delete_topic",
  [402] = "create_partitions", [403] = "delete_partitions", [600] = "get_consumer_group",
  [601] = "get_consumer_groups", [602] = "create_consumer_group",
  [603] = "delete_consumer_group", [604] = "join_consumer_group", [605] = "leave_consumer_group",
}
local states = {
  [1] = "available", [10] = "unavailable", [20] = "poisoned", [30] = "marked_for_deletion",
}
local strategies = { "offset", "timestamp", "first", "last", "next" }
local partitionings = { "balanced", "partition_id", "messages_key" }
local identifiers = { "numeric", "string" }
local consumers = { "consumer", "consumer group" }
local kinds = {
  "raw", "string", "bool", "int8", "int16", "int32", "int64", "int128", "uint8", "uint16",
  "uint32", "uint64", "uint128", "float32", "float64",
}
local f = {
  length = ProtoField.uint32("iggy.length", "Length"),
  code = ProtoField.uint32("iggy.code", "Code", base.DEC, commands),
  status = ProtoField.uint32("iggy.status", "Status"),
  payload = ProtoField.bytes("iggy.payload", "Payload"),
  identifier_kind = ProtoField.uint8("iggy.identifier.kind", "Kind", base.DEC, identifiers),
  identifier_number = ProtoField.uint32("iggy.identifier.number", "Number"),
  identifier_name = ProtoField.string("iggy.identifier.name", "Name"),
  consumer_kind = ProtoField.uint8("iggy.consumer.kind", "Consumer kind", base.DEC, consumers),
  consumer_id = ProtoField.uint32("iggy.consumer.id", "Consumer id"),
  partition_id = ProtoField.uint32("iggy.partition_id", "Partition id"),
  strategy = ProtoField.uint8("iggy.strategy", "Strategy", base.DEC, strategies),
  value = ProtoField.uint64("iggy.value", "Value"),
  count = ProtoField.uint32("iggy.count", "Count"),
  auto_commit = ProtoField.uint8("iggy.auto_commit", "Auto commit"),
  partitioning_kind = ProtoField.uint8("iggy.partitioning.kind", "Partitioning", base.DEC,
    partitionings),
  partitioning_value = ProtoField.bytes("iggy.partitioning.value", "Partitioning value"),
  current_offset = ProtoField.uint64("iggy.current_offset", "Current offset"),
  offset = ProtoField.uint64("iggy.offset", "Offset"),
  state = ProtoField.uint8("iggy.state", "State", base.DEC, states),
  timestamp = ProtoField.uint64("iggy.timestamp", "Timestamp (us)"),
  id = ProtoField.bytes("iggy.id", "Id"),
  checksum = ProtoField.uint32("iggy.checksum", "Checksum", base.HEX),
  headers_length = ProtoField.uint32("iggy.headers_length", "Headers length"),
  header_key = ProtoField.string("iggy.header.key", "Key"),
  header_kind = ProtoField.uint8("iggy.header.kind", "Kind", base.DEC, kinds),
  header_value = ProtoField.bytes("iggy.header.value", "Value"),
  message_length = ProtoField.uint32("iggy.message.length", "Payload length"),
  message_payload = ProtoField.bytes("iggy.message.payload", "Payload"),
}
iggy.fields = f
local cut_short = ProtoExpert.new("iggy.cut_short", "Cut short", expert.group.MALFORMED,
  expert.severity.WARN)
iggy.experts = { cut_short }
iggy.prefs.head = Pref.enum("Head of polled messages", 1,
  "What stands before the messages of a poll's answer",
  { { 1, "count (published text)", 1 }, { 2, "partition, offset, count (later servers)", 2 } },
  true)

local stream_of = Field.new("tcp.stream")
local streams = {} -- tcp.stream -> { client = port, codes = {}, answered = number, at = {} }

function iggy.init() streams = {} end

-- Reads field after field; `over` says that the bytes ended before a field did.
local Reader = {}
Reader.__index = Reader

function Reader:take(tree, field, length)
  if self.over or self.at + length > self.tvb:len() then
    if not self.over then tree:add_proto_expert_info(cut_short) end
    self.over = true
    return nil
  end
  local part = self.tvb(self.at, length)
  if field and length > 0 then tree:add_le(field, part) end
  self.at = self.at + length
  return part
end

function Reader:number(tree, field, length)
  local part = self:take(tree, field, length)
  return part and part:le_uint() or 0
end

function Reader:more() return not self.over and self.at < self.tvb:len() end

local function reader(tvb) return setmetatable({ tvb = tvb, at = 0 }, Reader) end

local function identifier(from, tree, name)
  local branch = tree:add(iggy, from.tvb(), name)
  local kind = from:number(branch, f.identifier_kind, 1)
  local length = from:number(branch, nil, 1)
  if kind == 1 and length == 4 then
    branch:append_text(" " .. from:number(branch, f.identifier_number, 4))
  else
    local value = from:take(branch, f.identifier_name, length)
    if value then branch:append_text(" " .. value:string()) end
  end
end

local function headers(from, tree)
  local length = from:number(tree, f.headers_length, 4)
  local stop = from.at + length
  while from:more() and from.at < stop do
    from:take(tree, f.header_key, from:number(tree, nil, 4))
    from:number(tree, f.header_kind, 1)
    from:take(tree, f.header_value, from:number(tree, nil, 4))
  end
end

local function content(from, tree)
  headers(from, tree)
  from:take(tree, f.message_payload, from:number(tree, f.message_length, 4))
end

local function send_messages(from, tree)
  identifier(from, tree, "Stream")
  identifier(from, tree, "Topic")
  from:number(tree, f.partitioning_kind, 1)
  from:take(tree, f.partitioning_value, from:number(tree, nil, 1))
  while from:more() do
    local branch = tree:add(iggy, from.tvb(from.at), "Message")
    from:take(branch, f.id, 16)
    content(from, branch)
  end
end

local function poll_messages(from, tree)
  from:number(tree, f.consumer_kind, 1)
  from:number(tree, f.consumer_id, 4)
  identifier(from, tree, "Stream")
  identifier(from, tree, "Topic")
  from:number(tree, f.partition_id, 4)
  from:number(tree, f.strategy, 1)
  from:take(tree, f.value, 8)
  from:number(tree, f.count, 4)
  from:number(tree, f.auto_commit, 1)
end

local function polled(from, tree)
  if iggy.prefs.head == 2 then
    from:number(tree, f.partition_id, 4)
    from:take(tree, f.current_offset, 8)
  end
  from:number(tree, f.count, 4)
  while from:more() do
    local branch = tree:add(iggy, from.tvb(from.at), "Message")
    from:take(branch, f.offset, 8)
    local state = from:number(branch, f.state, 1)
    from:take(branch, f.timestamp, 8)
    from:take(branch, f.id, 16)
    from:number(branch, f.checksum, 4)
    content(from, branch)
    branch:append_text(": " .. (states[state] or ("state " .. state)))
  end
end

local requests = { [100] = poll_messages, [101] = send_messages }
local answers = { [100] = polled }

local function request(tree, tvb)
  tree:add_le(f.length, tvb(0, 4))
  if tvb:len() < 8 then
    tree:add_proto_expert_info(cut_short)
    return "cut short", nil
  end
  local code = tvb(4, 4):le_uint()
  tree:add_le(f.code, tvb(4, 4))
  if tvb:len() > 8 then
    local payload = tvb(8):tvb()
    if requests[code] then
      requests[code](reader(payload), tree)
    else
      tree:add(f.payload, payload())
    end
  end
  return commands[code] or ("code " .. code), code
end

local function response(tree, tvb, code)
  local status = tvb(0, 4):le_uint()
  tree:add_le(f.status, tvb(0, 4))
  tree:add_le(f.length, tvb(4, 4))
  if tvb:len() > 8 then
    local body = tvb(8):tvb()
    if status == 0 and answers[code] then
      answers[code](reader(body), tree)
    else
      tree:add(f.payload, body())
    end
  end
  return (commands[code] or "response") .. (status == 0 and " ok" or " status " .. status)
end

-- Remembers, for each frame of the capture, which request a response answers.
local function answered(stream, pinfo, at)
  local place = pinfo.number .. ":" .. at
  if not stream.at[place] then
    stream.answered = stream.answered + 1
    stream.at[place] = stream.answered
  end
  return stream.codes[stream.at[place]]
end

local function asked(stream, pinfo, at, code)
  local place = pinfo.number .. ":" .. at
  if not stream.at[place] then
    stream.at[place] = #stream.codes + 1
    stream.codes[#stream.codes + 1] = code
  end
end

local function stream_at(pinfo)
  local number = stream_of().value
  streams[number] = streams[number]
    or { client = pinfo.src_port, codes = {}, answered = 0, at = {} }
  return streams[number]
end

function iggy.dissector(tvb, pinfo, tree)
  local stream = stream_at(pinfo)
  local by_client = pinfo.src_port == stream.client
  local said = {}
  local at = 0
  while at < tvb:len() do
    local left = tvb:len() - at
    local needed = by_client and 4 or 8
    if left >= needed then
      needed = by_client and 4 + tvb(at, 4):le_uint() or 8 + tvb(at + 4, 4):le_uint()
    end
    if needed > left then
      pinfo.desegment_offset = at
      pinfo.desegment_len = needed - left
      break
    end
    local part = tvb(at, needed)
    local branch = tree:add(iggy, part)
    local words, code
    if by_client then
      words, code = request(branch, part:tvb())
      asked(stream, pinfo, at, code or -1)
    else
      words = response(branch, part:tvb(), answered(stream, pinfo, at))
    end
    branch:append_text(": " .. words)
    said[#said + 1] = words
    at = at + needed
  end
  pinfo.cols.protocol = "Iggy"
  if #said > 0 then pinfo.cols.info = table.concat(said, ", ") end
  return tvb:len()
end

-- A stream that begins with one whole request of a known code is Iggy on whatever port.
iggy:register_heuristic("tcp", function(tvb, pinfo, tree)
  local length = tvb:len()
  if length < 8 or tvb(0, 4):le_uint() ~= length - 4 then return false end
  if not commands[tvb(4, 4):le_uint()] then return false end
  pinfo.conversation = iggy
  iggy.dissector(tvb, pinfo, tree)
  return true
end)
DissectorTable.get("tcp.port"):add_for_decode_as(iggy)
