-- A record as it is now.
-- KEYS: the record.
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
local r = redis.call('HMGET', KEYS[1], 'v', 't', 'x', 'f', 'l', 'n', 'b')
if r[2] then
  return {'gone'}
end
if not r[1] then
  return {'absent'}
end
local ends = -1
if r[3] then
  ends = math.max(tonumber(r[3]) - now, 0)
end
local lease = 0
if r[5] then
  lease = math.max(tonumber(r[5]) - now, 0)
end
return {'found', r[1], r[4] or '0', r[7], ends, redis.call('PTTL', KEYS[1]), r[6] or '', lease}
