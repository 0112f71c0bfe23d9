-- Takes a record for a while, counts as a use of it, and says what it is.
-- KEYS: the record; the bytes of its owner.
-- ARGV: holder, milliseconds of the lease, milliseconds that it may rest from now on (-1: as it is), the version whose content need
-- not travel, 1 if a record that does not exist is taken too.
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local lease = tonumber(ARGV[2])
local r = redis.call('HMGET', KEYS[1], 'v', 't', 'x', 'f', 'l', 'n')
if r[2] then
  return {'gone'}
end
if not r[1] and ARGV[5] ~= '1' then
  return {'absent'}
end
if r[5] and tonumber(r[5]) > now then
  return {'held', r[6], tonumber(r[5]) - now}
end
-- A fence is the time, or one more than the one before: it grows also where the record was forgotten in between.
local fence = string.format('%.0f', math.max((tonumber(r[4]) or 0) + 1, micros))
redis.call('HSET', KEYS[1], 'f', fence, 'l', string.format('%.0f', now + lease), 'n', ARGV[1])
if not r[1] then
  redis.call('PEXPIRE', KEYS[1], math.max(lease, 1))
  return {'taken', '0', fence, false, -1, -1, ARGV[1], lease}
end
local ends = -1
if r[3] then
  ends = math.max(tonumber(r[3]) - now, 0)
end
local rest = tonumber(ARGV[3])
if rest >= 0 then
  if ends >= 0 then
    rest = math.min(rest, ends)
  end
  redis.call('PEXPIRE', KEYS[1], rest)
  local counted = redis.call('PTTL', KEYS[2])
  if counted >= 0 and counted < rest then
    redis.call('PEXPIRE', KEYS[2], rest)
  end
end
local blob = false
if r[1] ~= ARGV[4] then
  blob = redis.call('HGET', KEYS[1], 'b')
end
return {'taken', r[1], fence, blob, ends, redis.call('PTTL', KEYS[1]), ARGV[1], lease}
