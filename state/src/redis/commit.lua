-- Makes all changes of records of one owner, or none.
-- KEYS: the bytes of the owner; the records.
-- ARGV: the prefix of the owner's keys, bytes that it may have, and for each record nine: field in the owner's bytes; p (put),
-- b (bury) or r (remove); expected version (-1: any); fence (0: none); 1 if the lease goes on; content; 1 if its bytes count;
-- milliseconds that it may rest (-1: until its end), or that it stays buried; its end (milliseconds, -1: as it is, -2: none).
local WIDTH = 9
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
local limit = tonumber(ARGV[2])
local counts = KEYS[1]
local writes = {}
local before, after = 0, 0

for at = 2, #KEYS do
  local from = 2 + (at - 2) * WIDTH
  local w = {
    key = KEYS[at], field = ARGV[from + 1], op = ARGV[from + 2], expected = tonumber(ARGV[from + 3]), fence = ARGV[from + 4],
    keeps = ARGV[from + 5] == '1', blob = ARGV[from + 6], counts = ARGV[from + 7] == '1', rest = tonumber(ARGV[from + 8]),
    ends = tonumber(ARGV[from + 9])
  }
  local r = redis.call('HMGET', w.key, 'v', 't', 'x', 'f')
  local version = tonumber(r[1]) or 0
  if w.expected >= 0 then
    if r[2] or (not r[1] and w.expected > 0) then
      return 'gone'
    end
    if version ~= w.expected then
      return 'conflict'
    end
  end
  if w.fence ~= '0' and r[4] ~= w.fence then
    return 'fenced'
  end
  w.version = version
  w.old_end = tonumber(r[3])
  if w.counts then
    before = before + (tonumber(redis.call('HGET', counts, w.field)) or 0)
    if w.op == 'p' then
      after = after + #w.blob
    end
  end
  writes[#writes + 1] = w
end

local sum = tonumber(redis.call('HGET', counts, '+')) or 0
local first_sum = sum
if after > before and sum + after - before > limit then
  -- Records that have expired do not count.
  local all = redis.call('HGETALL', counts)
  for at = 1, #all, 2 do
    if all[at] ~= '+' and redis.call('EXISTS', ARGV[1] .. all[at]) == 0 then
      redis.call('HDEL', counts, all[at])
      sum = sum - tonumber(all[at + 1])
    end
  end
  if sum ~= first_sum then
    redis.call('HSET', counts, '+', string.format('%.0f', sum))
  end
  -- What was counted of the records of this commit may have been among them.
  before = 0
  for _, w in ipairs(writes) do
    if w.counts then
      before = before + (tonumber(redis.call('HGET', counts, w.field)) or 0)
    end
  end
  if after > before and sum + after - before > limit then
    return 'full'
  end
end

local longest = redis.call('PTTL', counts)
for _, w in ipairs(writes) do
  if w.op == 'p' then
    redis.call('HSET', w.key, 'v', string.format('%.0f', w.version + 1), 'b', w.blob)
    local ends = w.old_end
    if w.ends == -2 then
      ends = nil
      redis.call('HDEL', w.key, 'x')
    elseif w.ends >= 0 then
      ends = now + w.ends
      redis.call('HSET', w.key, 'x', string.format('%.0f', ends))
    end
    if not w.keeps then
      redis.call('HDEL', w.key, 'l')
    end
    local left = w.rest
    if ends and (left < 0 or ends - now < left) then
      left = math.max(ends - now, 0)
    end
    if left < 0 then
      redis.call('PERSIST', w.key)
      longest = -1
    else
      redis.call('PEXPIRE', w.key, left)
      if longest == -2 or (longest >= 0 and longest < left) then
        longest = left
      end
    end
    redis.call('HSET', counts, w.field, w.counts and #w.blob or 0)
  else
    redis.call('DEL', w.key)
    if w.op == 'b' then
      redis.call('HSET', w.key, 't', '1', 'v', string.format('%.0f', w.version))
      redis.call('PEXPIRE', w.key, w.rest)
    end
    redis.call('HDEL', counts, w.field)
  end
end
if after ~= before then
  redis.call('HSET', counts, '+', string.format('%.0f', math.max(sum + after - before, 0)))
end
if longest == -1 then
  redis.call('PERSIST', counts)
elseif longest >= 0 then
  redis.call('PEXPIRE', counts, math.max(longest, 1))
end
return 'done'
