-- NSQ and its published extensions, for Wireshark: commands, frames, messages, trace replies.
-- How to use it: docs/wireshark.md

local nsq = Proto("wireproof_nsq", "NSQ")

local frame_types = { [0] = "response", [1] = "error", [2] = "message" }
local f = {
  magic = ProtoField.string("nsq.magic", "Magic"),
  command = ProtoField.string("nsq.command", "Command"),
  line = ProtoField.string("nsq.line", "Line"),
  size = ProtoField.int32("nsq.size", "Size"),
  count = ProtoField.int32("nsq.count", "Count"),
  header_length = ProtoField.uint16("nsq.header_length", "Header length"),
  json_header = ProtoField.string("nsq.json_header", "JSON header"),
  json = ProtoField.string("nsq.json", "JSON"),
  body = ProtoField.bytes("nsq.body", "Body"),
  frame_type = ProtoField.uint32("nsq.frame_type", "Frame type", base.DEC, frame_types),
  text = ProtoField.string("nsq.text", "Text"),
  timestamp_ns = ProtoField.int64("nsq.timestamp_ns", "Timestamp (ns)"),
  attempts = ProtoField.uint16("nsq.attempts", "Attempts"),
  internal_id = ProtoField.uint64("nsq.internal_id", "Internal id"),
  trace_id = ProtoField.uint64("nsq.trace_id", "Trace id"),
  extend_version = ProtoField.uint8("nsq.extend_version", "Extend version"),
  extend_length = ProtoField.uint16("nsq.extend_length", "Extend length"),
  extend_data = ProtoField.string("nsq.extend_data", "Extend data"),
  disk_queue_offset = ProtoField.uint64("nsq.disk_queue_offset", "Disk queue offset"),
  disk_queue_data_size = ProtoField.uint32("nsq.disk_queue_data_size", "Disk queue data size"),
}
nsq.fields = f
local cut_short = ProtoExpert.new("nsq.cut_short", "Cut short", expert.group.MALFORMED,
  expert.severity.WARN)
nsq.experts = { cut_short }

local MAGIC = "  V2"
local with_body = {
  IDENTIFY = true, AUTH = true, PUB = true, PUB_TRACE = true, PUB_EXT = true,
  MPUB = true, MPUB_TRACE = true, MPUB_EXT = true,
}
local ids_at = { ["FIN "] = 4, ["REQ "] = 4, ["TOUC"] = 6 }
local stream_of = Field.new("tcp.stream")
local streams = {} -- tcp.stream -> { client = port, extended = bool, placed = bool }

function nsq.init() streams = {} end

-- How many bytes a command takes; nil when more must be seen to know.
local function command_length(tvb)
  local left = tvb:len()
  if left < 4 then return nil end
  local head = tvb(0, 4):string()
  if head == MAGIC then return 4 end
  local from = ids_at[head] and ids_at[head] + 16 or 0
  if left <= from then return nil end
  local data = tvb:raw()
  local feed = data:find("\n", from + 1, true)
  if not feed then return nil end
  if not with_body[data:match("^[^ \r\n]*")] then return feed end
  if left < feed + 4 then return nil end
  local size = tvb(feed, 4):int()
  return feed + 4 + math.max(size, 0)
end

local function frame_length(tvb)
  if tvb:len() < 4 then return nil end
  return 4 + tvb(0, 4):uint()
end

-- Adds what is still there of a field; false when it is cut short.
local function add(tree, field, tvb, at, length)
  if length < 0 or at + length > tvb:len() then
    tree:add_proto_expert_info(cut_short)
    return false
  end
  tree:add(field, tvb(at, length))
  return true
end

local function message_in_body(tree, word, tvb)
  local at = 0
  if word:find("TRACE$") then
    if not add(tree, f.trace_id, tvb, 0, 8) then return end
    at = 8
  elseif word:find("EXT$") then
    if not add(tree, f.header_length, tvb, 0, 2) then return end
    local length = tvb(0, 2):uint()
    if not add(tree, f.json_header, tvb, 2, length) then return end
    at = 2 + length
  end
  if at < tvb:len() then tree:add(f.body, tvb(at)) end
end

local function batch(tree, word, tvb)
  if not add(tree, f.count, tvb, 0, 4) then return end
  local at = 4
  for _ = 1, tvb(0, 4):int() do
    if not add(tree, f.size, tvb, at, 4) then return end
    local size = tvb(at, 4):int()
    if size <= 0 or at + 4 + size > tvb:len() then
      tree:add_proto_expert_info(cut_short)
      return
    end
    message_in_body(tree:add(nsq, tvb(at, 4 + size), "Message"), word, tvb(at + 4, size):tvb())
    at = at + 4 + size
  end
end

local function command(tree, tvb, stream)
  if tvb:len() == 4 and tvb(0, 4):string() == MAGIC then
    tree:add(f.magic, tvb(0, 4))
    return "magic"
  end
  local data = tvb:raw()
  local id_at = ids_at[data:sub(1, 4)]
  if id_at and tvb:len() >= id_at + 16 then
    local word = data:sub(1, id_at - 1)
    tree:add(f.command, tvb(0, id_at - 1))
    tree:add(f.internal_id, tvb(id_at, 8))
    tree:add(f.trace_id, tvb(id_at + 8, 8))
    return word
  end
  local feed = data:find("\n", 1, true)
  local word = data:match("^[^ \r\n]*")
  if #word > 0 then tree:add(f.command, tvb(0, #word)) end
  tree:add(f.line, tvb(0, feed), (data:sub(1, feed - 1):gsub("\r$", "")))
  if word == "SUB_ORDERED" or word == "SUB_ADVANCED" then stream.placed = true end
  if not with_body[word] then return word end
  tree:add(f.size, tvb(feed, 4))
  if tvb:len() <= feed + 4 then return word end
  local body = tvb(feed + 4):tvb()
  if word == "IDENTIFY" then
    tree:add(f.json, body())
    stream.extended = body:raw():find('"extend_support"%s*:%s*true') ~= nil
  elseif word == "AUTH" then
    tree:add(f.body, body())
  elseif word:sub(1, 1) == "M" then
    batch(tree, word, body)
  else
    message_in_body(tree, word, body)
  end
  return word
end

local function message(tree, tvb, stream)
  local at = 0
  local function take(field, length)
    local there = add(tree, field, tvb, at, length)
    at = at + length
    return there
  end
  if not (take(f.timestamp_ns, 8) and take(f.attempts, 2)) then return end
  if not (take(f.internal_id, 8) and take(f.trace_id, 8)) then return end
  if stream.extended then
    if not take(f.extend_version, 1) then return end
    if tvb(at - 1, 1):uint() ~= 0 then
      if not take(f.extend_length, 2) then return end
      if not take(f.extend_data, tvb(at - 2, 2):uint()) then return end
    end
  end
  if stream.placed then
    if not (take(f.disk_queue_offset, 8) and take(f.disk_queue_data_size, 4)) then return end
  end
  if at < tvb:len() then tree:add(f.body, tvb(at)) end
end

local function frame(tree, tvb, stream)
  tree:add(f.size, tvb(0, 4))
  if not add(tree, f.frame_type, tvb, 4, 4) then return "frame" end
  local kind = tvb(4, 4):uint()
  if tvb:len() == 8 then return frame_types[kind] or "frame" end
  local data = tvb(8):tvb()
  if kind == 2 then
    message(tree, data, stream)
  elseif kind == 0 and data:len() == 30 and data(0, 2):string() == "OK" then
    tree:add(f.text, data(0, 2))
    tree:add(f.internal_id, data(2, 8))
    tree:add(f.trace_id, data(10, 8))
    tree:add(f.disk_queue_offset, data(18, 8))
    tree:add(f.disk_queue_data_size, data(26, 4))
    return "trace reply"
  elseif kind == 0 or kind == 1 then
    tree:add(f.text, data())
    return data():string()
  end
  return frame_types[kind] or "frame"
end

local function stream_at(pinfo)
  local number = stream_of().value
  streams[number] = streams[number] or {}
  return streams[number]
end

function nsq.dissector(tvb, pinfo, tree)
  local stream = stream_at(pinfo)
  if tvb:len() >= 4 and tvb(0, 4):string() == MAGIC then stream.client = pinfo.src_port end
  -- Without the magic (Decode As, a capture begun late) the client has the higher port.
  local client = stream.client or math.max(pinfo.src_port, pinfo.dst_port)
  local by_client = pinfo.src_port == client
  local said = {}
  local at = 0
  while at < tvb:len() do
    local rest = tvb(at):tvb()
    local length = by_client and command_length(rest) or (not by_client and frame_length(rest))
    if not length or length > rest:len() then
      pinfo.desegment_offset = at
      pinfo.desegment_len = length and length - rest:len() or DESEGMENT_ONE_MORE_SEGMENT
      break
    end
    local part = tvb(at, length)
    local branch = tree:add(nsq, part)
    local word = (by_client and command or frame)(branch, part:tvb(), stream)
    branch:append_text(": " .. word)
    said[#said + 1] = word
    at = at + length
  end
  pinfo.cols.protocol = "NSQ"
  if #said > 0 then pinfo.cols.info = table.concat(said, ", ") end
  return tvb:len()
end

-- A stream that begins with the magic, or with one whole frame, is NSQ on whatever port.
nsq:register_heuristic("tcp", function(tvb, pinfo, tree)
  local length = tvb:len()
  local is_magic = length >= 4 and tvb(0, 4):string() == MAGIC
  local is_frame = length >= 8 and tvb(0, 4):uint() == length - 4 and tvb(4, 4):uint() <= 2
  if not is_magic and not is_frame then return false end
  pinfo.conversation = nsq
  nsq.dissector(tvb, pinfo, tree)
  return true
end)
DissectorTable.get("tcp.port"):add_for_decode_as(nsq)
